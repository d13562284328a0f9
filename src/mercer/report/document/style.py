"""The style of a report: one column on a phone, two on a laptop, dark where the reader's screen is, plain on paper."""

#: Text is never smaller than 13 px; pictures are drawn 360 units wide and shown at least that wide where there is room.
STYLE = """
:root{--ink:#1c2430;--soft:#566171;--line:#d9dee6;--paper:#fff;--tint:#f5f7fa;--a:#0072b2;--b:#c24e00;--c:#00855f;
--d:#7a5ba8;--warn:#a04100;--warnbg:#fff3e8;--grid:#e6eaf0;--ok:#00704f}
@media (prefers-color-scheme:dark){:root{--ink:#e6e9ee;--soft:#a5afbd;--line:#39424f;--paper:#14181e;--tint:#1c222b;
--a:#56b4e9;--b:#f08a45;--c:#3fc79d;--d:#b79be0;--warn:#ffb27a;--warnbg:#33241a;--grid:#2a323d;--ok:#4fd1a5}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0 auto;max-width:1120px;padding:1.25rem;background:var(--paper);color:var(--ink);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.75rem;line-height:1.2;margin:.4rem 0}
h2{font-size:1.3rem;line-height:1.3;margin:0 0 .6rem;padding-top:1.2rem;border-top:2px solid var(--line)}
h3{font-size:1.02rem;margin:1.3rem 0 .4rem}
p{margin:.5rem 0;max-width:46rem}
.subtitle{color:var(--soft);font-size:1.02rem}
.quiet{color:var(--soft);font-size:.9rem}
section{margin:1.8rem 0}
nav ol{display:flex;flex-wrap:wrap;gap:.35rem 1rem;list-style:none;padding:0;margin:.8rem 0;font-size:.94rem}
a{color:var(--a)}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(13rem,100%),1fr));gap:.8rem;margin:.9rem 0}
.card{background:var(--tint);border:1px solid var(--line);border-radius:10px;padding:.75rem .95rem;display:flex;
flex-direction:column;gap:.1rem}
.card strong{font-size:1.65rem;line-height:1.25;font-weight:650;font-variant-numeric:tabular-nums}
.card .label{color:var(--soft);font-size:.88rem}
.card .remark{font-size:.88rem;color:var(--soft)}
.gallery{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(440px,100%),1fr));gap:1rem;margin:.9rem 0}
figure{margin:0;border:1px solid var(--line);border-radius:10px;padding:.6rem;background:var(--paper);max-width:600px;
width:100%;break-inside:avoid}
figcaption{color:var(--soft);font-size:.88rem;padding:.3rem .3rem .1rem}
svg{display:block;width:100%;height:auto}
svg text{font:12.3px system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif;fill:var(--ink)}
svg .soft{fill:var(--soft)}
svg .axis{stroke:var(--soft);stroke-width:1}
svg .grid{stroke:var(--grid);stroke-width:1}
svg .rule{stroke:var(--soft);stroke-width:1;stroke-dasharray:4 3;fill:none}
svg .dot{fill-opacity:.5}
svg .spot{stroke:var(--paper);stroke-width:2;fill-opacity:1}
svg .band{fill-opacity:.18}
svg .fa{fill:var(--a)}svg .fb{fill:var(--b)}svg .fc{fill:var(--c)}svg .fd{fill:var(--d)}svg .fs{fill:var(--soft)}
svg .sa{stroke:var(--a)}svg .sb{stroke:var(--b)}svg .sc{stroke:var(--c)}svg .sd{stroke:var(--d)}svg .ss{stroke:var(--soft)}
svg .stroke{fill:none;stroke-width:2;stroke-linejoin:round}
svg .thin{fill:none;stroke-width:1.2}
svg .on{fill:var(--paper)}
.scroll{overflow-x:auto;margin:.6rem 0}
table{border-collapse:collapse;font-size:.92rem;min-width:min(100%,24rem)}
th,td{text-align:left;padding:.36rem .7rem .36rem 0;border-bottom:1px solid var(--line);vertical-align:top;
overflow-wrap:break-word;max-width:26rem}
th{color:var(--soft);font-weight:600}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.best{font-weight:650;color:var(--ok)}
.chosen{font-weight:650}
dl.facts{margin:.6rem 0;display:grid;gap:0}
dl.facts div{display:grid;grid-template-columns:minmax(7rem,14rem) 1fr;gap:.2rem 1rem;padding:.3rem 0;
border-bottom:1px solid var(--line)}
dt{color:var(--soft)}
dd{margin:0}
pre{background:var(--tint);border:1px solid var(--line);border-radius:8px;padding:.7rem .85rem;white-space:pre-wrap;
overflow-wrap:anywhere;font-size:.86rem;line-height:1.45;margin:.5rem 0}
code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
ul.warnings{list-style:none;padding:0}
ul.warnings li{border-left:4px solid var(--line);background:var(--tint);padding:.55rem .85rem;margin:.5rem 0;
border-radius:0 8px 8px 0}
ul.warnings li.warning{border-color:var(--warn);background:var(--warnbg)}
ul.warnings b{display:block}
details summary{cursor:pointer;color:var(--a);margin:.5rem 0}
footer{color:var(--soft);font-size:.88rem;border-top:1px solid var(--line);margin-top:2rem}
@media (max-width:520px){body{padding:.9rem}h1{font-size:1.45rem}dl.facts div{grid-template-columns:1fr;gap:0}
figure{padding:.35rem}
table.wide,table.wide tbody,table.wide tr,table.wide td{display:block;max-width:none;text-align:left}
table.wide thead{display:none}
table.wide tr{border-bottom:1px solid var(--line);padding:.45rem 0}table.wide td{border:0;padding:.1rem 0;display:grid;
grid-template-columns:7.5rem 1fr;gap:.6rem}table.wide td.n{text-align:left;white-space:normal}
table.wide td:empty{display:none}
table.wide td::before{content:attr(data-name);color:var(--soft)}}
@media print{:root{--ink:#000;--soft:#444;--line:#bbb;--paper:#fff;--tint:#fff;--a:#0072b2;--b:#c24e00;--c:#00855f;
--warnbg:#fff;--grid:#ddd}body{max-width:none;padding:0;font-size:11pt}nav{display:none}section{break-inside:auto}
h2,h3{break-after:avoid}.gallery{grid-template-columns:1fr 1fr}.card,ul.warnings li,tr{break-inside:avoid}
details::details-content{content-visibility:visible;display:block}a{color:inherit;text-decoration:none}}
"""
