/** The document: ground, headings, links, the bar on top, what a keyboard and a printer need. */
export const FRAME = `*, ::before, ::after { box-sizing: border-box; }
html { font-size: 100%; -webkit-text-size-adjust: 100%; scroll-padding-top: 5rem; }
@media (min-width: 2400px) { html { font-size: 118.75%; } }
body { margin: 0; background: var(--ground); color: var(--text); font: var(--m)/1.55 var(--sans); font-variant-numeric: tabular-nums; overflow-wrap: break-word; }
h1, h2, h3 { line-height: 1.2; margin: 0; text-wrap: balance; letter-spacing: -.011em; }
h1 { font-size: var(--xxl); font-weight: 650; letter-spacing: -.02em; display: flex; flex-wrap: wrap; align-items: center; gap: var(--2) var(--3); min-width: 0; }
h2 { font-size: var(--l); font-weight: 620; margin: var(--6) 0 var(--3); }
h3 { font-size: var(--m); font-weight: 620; }
h1, h2, h3, td, dd, li, p { overflow-wrap: anywhere; }
p { margin: 0 0 var(--3); max-width: 72ch; }
a { color: var(--accent); text-decoration-thickness: 1px; text-underline-offset: .18em; text-decoration-color: color-mix(in srgb, currentColor 40%, transparent); }
a:hover { text-decoration-color: currentColor; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
main:focus { outline: none; }
code, pre { font-family: var(--mono); font-size: .9em; }
.muted { color: var(--muted); }
.skip { position: absolute; left: var(--4); top: -4rem; background: var(--surface); padding: var(--2) var(--4); z-index: 3; }
.skip:focus { top: var(--2); }
main, .top, .said { padding-inline: max(var(--4), (100vw - 76rem) / 2); }
main { padding-block: var(--6) var(--7); }
.said { padding-block: var(--5) 0; }
.top { position: sticky; top: 0; z-index: 2; display: flex; flex-wrap: wrap; align-items: center; gap: var(--1) var(--5); padding-block: var(--2); background: color-mix(in srgb, var(--surface) 88%, transparent); backdrop-filter: blur(10px); border-bottom: 1px solid var(--line); font-size: var(--s); min-height: 3.25rem; }
.home { display: flex; align-items: center; gap: var(--2); font-size: var(--m); font-weight: 680; letter-spacing: -.01em; color: var(--text); text-decoration: none; }
.visitor { display: flex; align-items: center; gap: var(--3); margin: 0 0 0 auto; color: var(--muted); }
.visitor span { max-width: 22ch; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.asof { display: flex; align-items: center; gap: var(--2); margin: 0 0 0 auto; color: var(--muted); }
.asof + .visitor { margin-inline-start: 0; }
.asof .dot { width: .5rem; height: .5rem; border-radius: 50%; background: var(--quiet); }
.asof[data-state=live] .dot { background: var(--good); }
.asof[data-state=silent] { color: var(--warn); font-weight: 600; }
.asof[data-state=silent] .dot { background: var(--warn); }
.script .asof[data-state=live] a { display: none; }
.crumbs { margin-bottom: var(--3); font-size: var(--s); color: var(--muted); }
.crumbs ol { display: flex; flex-wrap: wrap; gap: var(--1) var(--2); list-style: none; margin: 0; padding: 0; }
.crumbs li + li::before { content: "/"; margin-right: var(--2); color: var(--strong); }
.lead { font-size: var(--l); line-height: 1.45; margin: var(--3) 0 var(--5); max-width: 68ch; text-wrap: pretty; }
@media (max-width: 40rem) { .asof + .visitor { margin-inline-start: auto; } .visitor span { display: none; } .asof { order: 3; width: 100%; } main { padding-top: var(--5); } }
@media (prefers-reduced-motion: no-preference) { .asof[data-state=live] .dot { animation: pulse 2s ease-in-out infinite; } @keyframes pulse { 50% { opacity: .35; } } }
@media (forced-colors: active) { .badge, .notice, .card { border: 1px solid; } .asof .dot { background: CanvasText; } }
@media print { .top, .acts, .command button, .skip { display: none !important; } body { background: #fff; } .card, .notice, .rows { break-inside: avoid; box-shadow: none; } details > * { display: block; } }
`;
