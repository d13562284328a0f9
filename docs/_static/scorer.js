// Order of search results: words of the glossary and titles first, then chapters, then the reference; records of the project last.
var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
  score: function (result) {
    const page = result[0], score = result[4];
    if (page === "glossary") return score + 200;
    if (/^(repository|evidence|design|conventions|lectures\/coverage|lectures\/misprints)/.test(page)) return score - 400;
    if (/^(api|gallery)/.test(page)) return score - 20;
    return score + 10;
  },
};
