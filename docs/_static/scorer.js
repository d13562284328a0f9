// Order of search results: the class or function of this name, words of the glossary, titles, chapters, the reference; records of
// the project last.
const asked = (new URLSearchParams(window.location.search).get("q") || "").trim().toLowerCase().replace(/^mercer\./, "");
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
    const page = result[0], title = result[1], anchor = result[2], score = result[4];
    if (page.toLowerCase() === "api/mercer." + asked) return score + 300;
    if (page === "glossary") return score + (anchor ? 200 : 0);
    if (title.toLowerCase().split(" > ").pop() === asked) return score + 100;
    if (/^(repository|evidence|design|conventions|lectures\/coverage|lectures\/misprints)/.test(page)) return score - 400;
    if (/^(api|gallery)/.test(page)) return score - 20;
    return score + 10;
  },
};
