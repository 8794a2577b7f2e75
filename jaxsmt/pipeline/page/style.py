"""How pages look: one column, system fonts, light or dark as the reader's system is, wide tables that scroll alone."""

STYLE = """
:root{--paper:#fff;--raised:#f4f6f9;--ink:#1b1f24;--soft:#51596a;--line:#c9d0da;--link:#0a4fb4;
--heat:56 119 214;--good:#10693a;--good-paper:#d9f2e2;--bad:#a3231f;--bad-paper:#fde3e1;
--s0:#1d5fc4;--s1:#b3450a;--s2:#1c7a3e;--s3:#8a2fae;--s4:#9a6a00;--s5:#0b7285;--s6:#b0195e;--s7:#555b66}
@media(prefers-color-scheme:dark){:root{--paper:#14171c;--raised:#1d222a;--ink:#e7eaee;--soft:#a9b2c0;--line:#3a424e;
--link:#8ab8ff;--heat:70 130 225;--good:#7fdca4;--good-paper:#123d26;--bad:#ff9d98;--bad-paper:#4a1d1c;
--s0:#7db0ff;--s1:#ffa667;--s2:#74d697;--s3:#dc9cf5;--s4:#e8c15a;--s5:#63d2e4;--s6:#ff8fbf;--s7:#b9c0cb}}
*{box-sizing:border-box}
html{color-scheme:light dark;-webkit-text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);font:1rem/1.5 system-ui,sans-serif;overflow-wrap:break-word}
header,main{max-width:70rem;margin:0 auto;padding:0 1rem}
main{padding-bottom:4rem}
h1{font-size:1.6rem;line-height:1.25;margin:1.2rem 0 .4rem}
h2{font-size:1.3rem;margin:2.6rem 0 .4rem;padding-top:.5rem;border-top:1px solid var(--line)}
h3{font-size:1.05rem;margin:1.5rem 0 .3rem}
p{margin:.4rem 0 .8rem;max-width:46rem}
.soft,caption,dt,.axis{color:var(--soft)}
a{color:var(--link)}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.skip{position:absolute;left:-99rem}
.skip:focus{left:1rem;top:.5rem;background:var(--paper);padding:.5rem;z-index:2}
.heard{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
nav ul{display:flex;flex-wrap:wrap;gap:.1rem 1rem;list-style:none;margin:0;padding:0}
nav a{display:inline-block;padding:.35rem 0}
.scroll{overflow-x:auto;margin:.8rem 0 1.2rem;position:relative}
table{border-collapse:collapse;min-width:min(100%,21rem);font-variant-numeric:tabular-nums;font-size:.92rem}
caption{text-align:left;padding:.2rem 0 .4rem;position:sticky;left:0;max-width:calc(100vw - 2rem)}
th,td{padding:.28rem .7rem .28rem 0;text-align:left;vertical-align:top}
td{border-top:1px solid var(--line)}
th{font-weight:600}
tbody th{border-top:1px solid var(--line);font-weight:400}
thead th{vertical-align:bottom}
.number{text-align:right}td.number{white-space:nowrap}
.stars{display:inline-block;width:1.55em;text-align:left}
.beside{display:flex;flex-wrap:wrap;gap:0 2.5rem}.beside>*{min-width:0}.beside figure{flex:1 1 32rem;max-width:40rem}
td.heat{background:rgb(var(--heat)/calc(var(--share)*.55));padding:.28rem .7rem;text-align:right}
.better{color:var(--good)}.worse{color:var(--bad)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(10.5rem,1fr));gap:.7rem;margin:1rem 0;padding:0}
.tile{background:var(--raised);border-radius:.5rem;padding:.7rem .9rem;margin:0}
.tile dt{font-size:.9rem}
.tile dd{margin:0;font-size:1.5rem;line-height:1.3}
.tile dd small{display:block;font-size:.85rem}
.sample{background:var(--raised);border-radius:.5rem;padding:.6rem .9rem;margin:.8rem 0}
.sample h4{font-size:.85rem;font-weight:400;color:var(--soft);margin:0 0 .2rem}
.sample dl{margin:0;display:grid;grid-template-columns:minmax(6.5rem,max-content) 1fr;gap:.15rem 1rem}
.sample dt{font-size:.9rem;padding-top:.08rem}
.sample dd{margin:0}
.sample .scroll{margin:.3rem 0}
mark{background:var(--bad-paper);color:inherit;border-bottom:2px solid var(--bad);padding:0 .1em}
del{color:var(--good);background:var(--good-paper);text-decoration:line-through;padding:0 .1em}
details{margin:.2rem 0}.sample details{margin:0}
summary{cursor:pointer;color:var(--link);padding:.2rem 0}.sample summary{font-size:.92rem}
pre{background:var(--raised);padding:.8rem;overflow-x:auto;font-size:.82rem;line-height:1.4}
code{font-size:.9em;overflow-wrap:anywhere}
.share{display:inline-block;white-space:nowrap;margin-right:.5rem;padding:0 .35rem;
background:rgb(var(--heat)/calc(var(--share)*.55))}
figure{margin:.8rem 0 1.2rem}
figcaption{color:var(--soft);font-size:.92rem}
svg{display:block;width:100%;max-width:44rem;height:auto}
svg text{font:13px system-ui,sans-serif;fill:var(--ink)}
svg text.axis{fill:var(--soft)}
.grid{stroke:var(--line);stroke-width:1}
.curve{fill:none;stroke-width:2.2;stroke:var(--own)}
.band{fill:var(--own);opacity:.16;stroke:none}
.dot{fill:var(--own);stroke:none}
.rest{fill:var(--raised);stroke:none}
.ring{fill:var(--paper);stroke:var(--own);stroke-width:2.5}
.whisker{stroke:var(--own);stroke-width:2;fill:none}
.key{display:inline-block;width:.8em;height:.8em;background:var(--own);border-radius:2px;margin-right:.35em}
.keys{list-style:none;padding:0;margin:.2rem 0;display:flex;flex-wrap:wrap;gap:.1rem 1.1rem;font-size:.92rem}
"""
STYLE += "".join(f".s{number}{{--own:var(--s{number})}}\n" for number in range(8))
STYLE += """
@media(max-width:34rem){h1{font-size:1.35rem}table{font-size:.86rem}
th,td{padding-right:.5rem}td.heat{padding:.28rem .4rem}
.sample dl{display:block}.sample dt{margin-top:.35rem}svg text{font-size:22px}}
@media print{details>*{display:block}.skip{display:none}}
"""
NUM_COLOURS = 8


def colour(number: int) -> str:
    """The class of the n-th of several things."""
    return f"s{number % NUM_COLOURS}"
