"""How the report looks, and the one enhancement that a script makes."""

from __future__ import annotations

#: name → (light, dark). Contrast with the paper is checked by a test.
COLOURS: dict[str, tuple[str, str]] = {
    "paper": ("#fcfcfa", "#15171b"),
    "panel": ("#f3f3ef", "#1e2126"),
    "ink": ("#1d2025", "#e7e6e1"),
    "soft": ("#5a606b", "#a5abb6"),
    "rule": ("#dcdcd6", "#353a42"),
    "grid": ("#e6e6e1", "#2a2e35"),
    "accent": ("#4236a0", "#b6b1ff"),
    "bad": ("#a11d2b", "#ff9c97"),
    "good": ("#0a6b45", "#6fd6a4"),
    "p0": ("#8d939d", "#7d8591"),
    "p1": ("#c98b2e", "#d9a552"),
    "p2": ("#4236a0", "#b6b1ff"),
    "bad-panel": ("#fbeeee", "#341c1f"),
    "window": ("#dad6f4", "#3b3768"),
    "stall": ("#f0dca8", "#4a3f1f"),
    "s0": ("#5c636e", "#aab2bf"),
    "s1": ("#0a69a8", "#6bb8f2"),
    "s2": ("#a94e05", "#f0a35c"),
    "s3": ("#0a7659", "#57cfa8"),
    "s4": ("#a0357a", "#f093cc"),
}


def variables(theme: int) -> str:
    """The colours of a theme (0 light, 1 dark) as CSS variables."""
    return "".join(f"--{name}:{pair[theme]};" for name, pair in COLOURS.items())


LAYOUT = """
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);
 font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;
 font-variant-numeric:tabular-nums}
main,header.top,footer{max-width:1120px;margin:0 auto;padding:0 32px}
header.top{padding-top:44px}
.eyebrow{margin:0 0 6px;color:var(--soft);font-size:14px}
h1{font-size:19px;font-weight:600;margin:0 0 18px;line-height:1.35}
h2{font-size:22px;font-weight:600;line-height:1.3;margin:0 0 10px;letter-spacing:-.005em}
h3{font-size:16px;font-weight:600;margin:26px 0 6px}
p,ul,ol,dl{margin:0 0 12px}
main>section{margin-top:56px;padding-top:22px;border-top:1px solid var(--rule)}
main>section>p,figcaption,.words{max-width:74ch}
.answers{max-width:100ch}
.answer{font:400 27px/1.38 Charter,"Iowan Old Style","Source Serif 4",Georgia,serif;
 max-width:40em;margin:0 0 14px;font-variant-numeric:lining-nums tabular-nums;text-wrap:pretty}
.answer strong,.answers strong{color:var(--accent);font-weight:600;white-space:nowrap}
.answers{padding-left:1.1em;font-size:17px}
.answers li{margin-bottom:5px}
s{text-decoration-thickness:2px;text-decoration-color:var(--bad);color:var(--soft)}
.answer strong s,.answers strong s{color:var(--soft)}
.note{color:var(--soft);font-size:14.5px}
a{color:var(--accent)}
nav{margin:22px 0 0;font-size:14px;display:flex;flex-wrap:wrap;gap:2px 18px}
nav a{text-decoration:none;padding:3px 0}
nav a:hover{text-decoration:underline}
.banner{border:1px solid var(--bad);border-left-width:6px;background:var(--bad-panel);
 border-radius:4px;padding:16px 20px 6px;margin:0 0 28px}
.banner h2{font-size:18px;color:var(--bad)}
.banner ul{padding-left:1.1em}
.scroll{overflow-x:auto;margin:14px 0 8px;position:relative;
 background:linear-gradient(to right,var(--paper) 60%,transparent),
 linear-gradient(to left,var(--paper) 60%,transparent) right,
 linear-gradient(to right,var(--rule),transparent),
 linear-gradient(to left,var(--rule),transparent) right;
 background-repeat:no-repeat;background-size:44px 100%,44px 100%,14px 100%,14px 100%;
 background-attachment:local,local,scroll,scroll}
.scroll:focus-visible{outline:2px solid var(--accent);outline-offset:3px}
table{border-collapse:collapse;font-size:14px;line-height:1.35}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);
 white-space:nowrap}
th,td{padding:6px 9px;text-align:left;vertical-align:baseline}
thead th{font-weight:500;color:var(--soft);font-size:13px;white-space:nowrap}
thead tr:last-child th{border-bottom:1px solid var(--ink)}
thead th.name,thead th[rowspan]{vertical-align:bottom;border-bottom:1px solid var(--ink)}
th.group{white-space:normal;color:var(--ink);border-left:1px solid var(--rule)}
tbody th{font-weight:500;white-space:nowrap}
tbody td{border-top:1px solid var(--grid)}
tbody th{border-top:1px solid var(--grid)}
td.num,thead tr:last-child th:not(.left){text-align:right}
td.num{white-space:nowrap}
table.stages td:nth-child(2){font-weight:600}
table.stages{width:100%}
table.stages th,table.stages td{padding-left:7px;padding-right:7px}
table.stages .span{color:var(--soft)}
th.name{position:sticky;left:0;background:var(--paper);z-index:1}
tr.run td,tr.run th{font-size:13px;border-top:0;padding-top:2px;padding-bottom:2px;
 color:var(--soft);font-weight:400!important}
tr.run td.bad{color:var(--bad);font-weight:600!important}
tr.run th{padding-left:26px!important}
.verdict{white-space:nowrap}
.bad{color:var(--bad);font-weight:600}
.legend .swatch{margin-left:12px}
.key{display:inline-block;margin-right:22px}
.swatch{display:inline-block;width:11px;height:11px;border-radius:2px;margin-right:8px;
 background:currentColor}
figure{margin:20px 0 8px}
figcaption{color:var(--soft);font-size:14px;margin-top:8px}
figcaption b{color:var(--ink);font-weight:600}
svg.chart{display:block;width:100%;height:auto;overflow:visible}
.for-phone{display:none}
.grid{display:grid;gap:26px 34px;grid-template-columns:repeat(auto-fit,minmax(min(100%,320px),1fr))}
.grid.small{gap:20px 22px;grid-template-columns:repeat(auto-fill,minmax(min(100%,235px),1fr))}
.grid{margin-bottom:16px}
.grid figure,.grid .course{margin:0}
.grid h3,.pair h3{font-size:14.5px;margin:0 0 4px}
.grid.two{grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr))}
.pair{break-inside:avoid;margin-top:22px}
.grid>.pair{margin-top:0}
.course{break-inside:avoid;margin-top:18px}
dl.facts{display:grid;grid-template-columns:max-content 1fr max-content 1fr;gap:3px 22px;
 font-size:14.5px}
dl.facts dt{color:var(--soft)}
dl.facts dd{margin:0;overflow-wrap:anywhere}
dl.glossary dt{font-weight:600}
dl.glossary dd{margin:0 0 8px}
.doubts{list-style:none;padding:0}
.doubts li{padding:7px 0;border-top:1px solid var(--grid);max-width:86ch}
.tag{display:inline-block;border:1px solid currentColor;border-radius:3px;padding:0 6px;
 font-size:12.5px;line-height:1.5;margin-right:8px;color:var(--soft)}
.tag.bad{color:var(--bad)}
code,pre{font:13.5px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
pre{background:var(--panel);padding:12px 14px;border-radius:4px;overflow-x:auto}
code{overflow-wrap:anywhere}
table.claims{width:100%;margin:18px 0 10px;font-size:14.5px;table-layout:fixed}
table.claims th,table.claims td{vertical-align:top;padding:9px 10px;overflow-wrap:break-word}
table.claims tbody th{white-space:normal;font-weight:600}
table.claims thead th{white-space:normal}
.mark{display:inline-block;font-weight:600;white-space:nowrap}
.mark.good{color:var(--good)}.mark.bad{color:var(--bad)}.mark.open{color:var(--soft)}
.ours{display:block;font-variant-numeric:tabular-nums;margin-top:2px}
.says{display:block;color:var(--soft);font-size:13px;line-height:1.4;margin-top:3px}
details{margin:14px 0;border-top:1px solid var(--rule);padding-top:10px}
details details,li details{margin:0;border-top:0;padding-top:0}
summary{cursor:pointer;font-weight:600;padding:4px 0}
.swatch.part-gathering{background:var(--p0)}.swatch.part-residence{background:var(--p1)}
.swatch.part-engine{background:var(--p2)}
footer{margin-top:56px;padding-top:18px;padding-bottom:56px;color:var(--soft);font-size:13.5px}
.readout{position:fixed;pointer-events:none;background:var(--ink);color:var(--paper);
 font-size:12.5px;line-height:1.4;padding:5px 9px;border-radius:3px;white-space:pre;z-index:5}
"""

DRAWING = """
.chart text{font-size:12px;fill:var(--ink)}
/* no line runs through a figure */
.chart text.value{paint-order:stroke;stroke:var(--paper);stroke-width:4px;stroke-linejoin:round}
.chart text.tick,.chart text.axis{fill:var(--soft);font-size:11px}
.chart text.small,.chart text.phase-name{font-size:10.5px}
.chart text.phase-name{fill:var(--ink)}
.chart text.panel{font-weight:600}
.chart text.mark{font-size:12px;fill:var(--ink)}
.chart .grid-line,.chart line.grid{stroke:var(--grid);stroke-width:1}
.chart line.base{stroke:var(--soft);stroke-width:1}
.chart line.edge{stroke:var(--soft);stroke-width:1;stroke-dasharray:2 3}
.chart .line{fill:none;stroke:currentColor;stroke-width:2;stroke-linejoin:round}
.chart .thin{stroke-width:.8;opacity:.55}
.chart .fine{stroke-width:1.2}
.chart .hair{stroke-width:1}
.chart .dashed{stroke-dasharray:5 4;stroke-width:1.5}
.chart .dotted{stroke-dasharray:1.5 3;stroke-linecap:round}
.chart .untrusted{opacity:.6}
.chart .ink{color:var(--ink)}
.chart .soft{color:var(--soft)}
.chart .area{fill:currentColor;fill-opacity:.2}
.chart .outlined{stroke:currentColor;stroke-width:1}
.chart .fill,.chart text.fill{fill:currentColor}
.chart text.fill{font-weight:600}
.chart text.small.fill{font-weight:400}
.chart .hollow{fill:var(--paper);stroke:currentColor;stroke-width:2.5}
.chart .whisker{stroke:currentColor;stroke-width:2}
.chart .leader{stroke:currentColor;stroke-width:1;opacity:.55;fill:none}
.chart .paper-mark{fill:none;stroke:var(--ink);stroke-width:1.6}
.chart .median{stroke:currentColor;stroke-width:3.5}
.chart .part-gathering{fill:var(--p0)}.chart .part-residence{fill:var(--p1)}
.chart .part-engine{fill:var(--p2)}
.chart .stall{fill:var(--stall)}
.chart .phase{fill:var(--rule)}
.chart .phase.measured{fill:var(--window)}
""" + "".join(f".s{i}{{color:var(--s{i})}}\n" for i in range(5))

SMALL_AND_PRINT = """
@media (max-width:719px){
 main,header.top,footer{padding-left:18px;padding-right:18px}
 header.top{padding-top:26px}
 .answer{font-size:22px}
 .for-desk{display:none}.for-phone{display:block}
 .key{display:block;margin-right:0}
 main>section{margin-top:42px}
 dl.facts{grid-template-columns:minmax(0,10em) minmax(0,1fr);gap:3px 16px}
 table.stages{width:auto}
 table.claims,table.claims tbody,table.claims tr,table.claims th,table.claims td{display:block}
 table.claims thead{display:none}
 table.claims tr{border-top:1px solid var(--ink);padding:8px 0}
 table.claims tbody th,table.claims tbody td{border-top:0;padding:3px 0}
 table.claims td::before{content:attr(data-label) ": ";color:var(--soft);font-size:13px}
}
@media print{
 body{font-size:11pt;background:#fff}
 nav,.readout{display:none}
 main,header.top,footer{max-width:none;padding-left:0;padding-right:0}
 .scroll{overflow:visible;background:none}
 table{font-size:8.5pt}
 table.stages{font-size:6.6pt}
 table.stages th,table.stages td{padding:3px 3px;font-size:6.6pt}
 th.name{position:static;background:none}
 .answer{font-size:15pt}
 figure,.course,tr,li{break-inside:avoid}
 h2,h3,h4{break-after:avoid}
 .for-desk{display:block}.for-phone{display:none}
 *{-webkit-print-color-adjust:exact;print-color-adjust:exact}
}
"""

#: reads the values of the named lines nearest to the pointer; nothing depends on it
SCRIPT = """
(function(){
var box=document.createElement('div');box.className='readout';box.hidden=true;
document.body.appendChild(box);
function value(n,o,p){var t=(p-n[o+2])/(n[o+3]-n[o+2]);
 return n[o+4]?n[o]*Math.pow(n[o+1]/n[o],t):n[o]+t*(n[o+1]-n[o]);}
function say(v){return Math.abs(v)>=100?v.toFixed(0):v.toPrecision(3);}
document.querySelectorAll('svg.chart').forEach(function(svg){
 var lines=svg.querySelectorAll('polyline[data-name]');
 if(!lines.length)return;
 var n=svg.dataset.axes.split(' ').map(Number);
 svg.addEventListener('pointermove',function(e){
  var r=svg.getBoundingClientRect(),k=svg.viewBox.baseVal.width/r.width;
  var x=(e.clientX-r.left)*k,out=['x '+say(value(n,0,x))],seen={};
  if(x<n[2]||x>n[3]){box.hidden=true;return;}
  lines.forEach(function(l){
   var name=l.dataset.name;
   for(var i=1;i<l.points.numberOfItems&&!seen[name];i++){
    var a=l.points.getItem(i-1),b=l.points.getItem(i);
    if(a.x<=x&&x<=b.x){var t=b.x>a.x?(x-a.x)/(b.x-a.x):1;
     seen[name]=1;out.push(name+' '+say(value(n,5,a.y+t*(b.y-a.y))));}
   }
  });
  box.textContent=out.join('\\n');box.hidden=false;
  box.style.left=Math.min(e.clientX+14,innerWidth-box.offsetWidth-8)+'px';
  box.style.top=(e.clientY+14)+'px';
 });
 svg.addEventListener('pointerleave',function(){box.hidden=true;});
});})();
"""


def stylesheet() -> str:
    """The whole style sheet."""
    themes = (
        f":root{{color-scheme:light dark;{variables(0)}}}"
        f"@media (prefers-color-scheme:dark){{:root{{{variables(1)}}}}}"
        f"@media print{{:root{{{variables(0)}}}}}"
    )
    return themes + LAYOUT + DRAWING + SMALL_AND_PRINT
