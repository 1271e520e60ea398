/**
 * The style sheet of the pages. Each text colour has a contrast of at least 4.5 on each of its backgrounds. No meaning
 * depends on colour alone.
 */
const TOKENS = `:root {
  color-scheme: light dark;
  --sans: Inter, ui-sans-serif, system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  --mono: ui-monospace, "SF Mono", "JetBrains Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  --xs: .75rem; --s: .8125rem; --m: .9375rem; --l: 1.125rem; --xl: 1.5rem; --xxl: clamp(1.625rem, 1.3rem + 1.2vw, 2.25rem);
  --1: .25rem; --2: .5rem; --3: .75rem; --4: 1rem; --5: 1.5rem; --6: 2rem; --7: 3rem;
  --radius: 10px;
  --ground: light-dark(#f6f8f8, #0d1416);
  --surface: light-dark(#fff, #141d20);
  --raised: light-dark(#f0f4f4, #1b272b);
  --line: light-dark(#dfe6e7, #26343a);
  --strong: light-dark(#c3ced0, #3a4c53);
  --text: light-dark(#10201f, #e8f0f0);
  --muted: light-dark(#516264, #9db0b3);
  --accent: light-dark(#0b6b77, #55c8d4);
  --on-accent: light-dark(#fff, #06262b);
  --good: light-dark(#17683b, #6fd39b); --good-ground: light-dark(#e5f4eb, #12291d);
  --busy: light-dark(#0b6b77, #63cfdb); --busy-ground: light-dark(#e0f2f4, #0f2b30);
  --warn: light-dark(#855200, #f0bb62); --warn-ground: light-dark(#fdf2dc, #30240d);
  --bad: light-dark(#b3261e, #ff9d93); --bad-ground: light-dark(#fdebe9, #371816);
  --quiet: light-dark(#4f5f61, #a5b6b9); --quiet-ground: light-dark(#edf1f1, #1f2b2f);
  --shadow: 0 1px 2px light-dark(rgb(16 32 31 / .06), rgb(0 0 0 / .4));
}
`;

const FRAME = `*, ::before, ::after { box-sizing: border-box; }
html { font-size: 100%; -webkit-text-size-adjust: 100%; scroll-padding-top: 5rem; }
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
main, .top { padding-inline: max(var(--4), (100vw - 76rem) / 2); }
main { padding-block: var(--6) var(--7); }
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
.crumbs { margin-bottom: var(--3); font-size: var(--s); color: var(--muted); }
.crumbs ol { display: flex; flex-wrap: wrap; gap: var(--1) var(--2); list-style: none; margin: 0; padding: 0; }
.crumbs li + li::before { content: "/"; margin-right: var(--2); color: var(--strong); }
.lead { font-size: var(--l); line-height: 1.45; margin: var(--3) 0 var(--5); max-width: 68ch; text-wrap: pretty; }
@media (max-width: 40rem) { .asof + .visitor { margin-inline-start: auto; } .visitor span { display: none; } .asof { order: 3; width: 100%; } main { padding-top: var(--5); } }
@media (prefers-reduced-motion: no-preference) { .asof[data-state=live] .dot { animation: pulse 2s ease-in-out infinite; } @keyframes pulse { 50% { opacity: .35; } } }
@media (forced-colors: active) { .badge, .notice, .card { border: 1px solid; } .asof .dot { background: CanvasText; } }
`;

const PARTS = `.badge { display: inline-flex; align-items: center; gap: .4em; padding: .1em .6em; border-radius: 99px; font-size: var(--s); font-weight: 600; letter-spacing: 0; line-height: 1.55; white-space: nowrap; }
.badge::before { content: ""; width: .5em; height: .5em; border-radius: 50%; background: currentColor; flex: none; }
.badge.bad::before { border-radius: 1px; transform: rotate(45deg); }
.badge.warn::before { border-radius: 1px; }
.badge.quiet::before { background: none; box-shadow: inset 0 0 0 1.5px currentColor; }
.good { --tone: var(--good); --tone-ground: var(--good-ground); }
.busy { --tone: var(--busy); --tone-ground: var(--busy-ground); }
.warn { --tone: var(--warn); --tone-ground: var(--warn-ground); }
.bad { --tone: var(--bad); --tone-ground: var(--bad-ground); }
.quiet { --tone: var(--quiet); --tone-ground: var(--quiet-ground); }
.badge { color: var(--tone); background: var(--tone-ground); }
.notice { padding: var(--4) var(--5); margin: 0 0 var(--4); background: var(--tone-ground); border-inline-start: 4px solid var(--tone); border-radius: 4px var(--radius) var(--radius) 4px; }
.notice > :last-child { margin-bottom: 0; }
.notice strong { color: var(--tone); }
.command { display: flex; align-items: stretch; width: fit-content; max-width: 100%; margin: var(--2) 0; background: var(--raised); border: 1px solid var(--line); border-radius: 8px; color: var(--text); font-size: var(--s); }
.command code { min-width: 0; padding: var(--2) var(--3); white-space: pre-wrap; overflow-wrap: anywhere; }
.command code::before { content: "$ "; color: var(--muted); user-select: none; }
.command button { display: none; flex: none; min-width: 4.75rem; border: 0; border-inline-start: 1px solid var(--line); border-radius: 0 7px 7px 0; background: none; color: var(--accent); font-weight: 600; }
.script .command button { display: block; }
button { font: inherit; font-size: var(--s); font-weight: 600; padding: .45em 1em; min-height: 2.25rem; border: 1px solid var(--strong); border-radius: 8px; background: var(--surface); color: var(--text); cursor: pointer; text-decoration: none; display: inline-flex; align-items: center; justify-content: center; }
button:hover { background: var(--raised); }
.act { margin: 0 0 var(--4); }
.act p { margin-bottom: var(--1); }
main form button { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
main form button:hover { background: var(--accent); filter: brightness(1.08); }
.acts { display: flex; flex-wrap: wrap; align-items: center; gap: var(--2) var(--4); margin: var(--4) 0; padding: 0; list-style: none; }
.card { background: var(--surface); border: 1px solid var(--line); border-radius: var(--radius); box-shadow: var(--shadow); padding: var(--5); }
.card > :first-child { margin-top: 0; }
.card > :last-child { margin-bottom: 0; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 19rem), 1fr)); gap: var(--4); align-items: start; margin: 0 0 var(--4); padding: 0; list-style: none; }
.card h2 { margin: 0 0 var(--3); }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 10.5rem), 1fr)); gap: 1px; margin: 0 0 var(--5); background: var(--surface); border: 1px solid var(--line); border-radius: var(--radius); overflow: hidden; box-shadow: var(--shadow); }
.facts > div { padding: var(--3) var(--4); box-shadow: 0 0 0 1px var(--line); }
.facts dt { font-size: var(--xs); font-weight: 600; color: var(--muted); }
.facts dd { margin: var(--1) 0 0; font-weight: 560; }
.progress { display: flex; flex-wrap: wrap; align-items: center; gap: var(--2) var(--4); margin: var(--4) 0; }
.rows .progress { margin: 0; }
progress { appearance: none; flex: 1 1 8rem; min-width: 6rem; height: .625rem; border: 0; border-radius: 99px; overflow: hidden; background: var(--line); }
progress::-webkit-progress-bar { background: var(--line); }
progress::-webkit-progress-value { background: var(--accent); border-radius: 99px; }
progress::-moz-progress-bar { background: var(--accent); border-radius: 99px; }
.rows { width: 100%; border-collapse: separate; border-spacing: 0; background: var(--surface); border: 1px solid var(--line); border-radius: var(--radius); box-shadow: var(--shadow); font-size: var(--s); margin: 0 0 var(--4); }
.rows caption { text-align: start; padding: 0 0 var(--2); color: var(--muted); }
.rows th, .rows td { padding: .6rem var(--4); text-align: start; vertical-align: top; border-bottom: 1px solid var(--line); }
.rows thead th { font-size: var(--xs); font-weight: 600; color: var(--muted); white-space: nowrap; background: var(--raised); }
.rows thead th:first-child { border-top-left-radius: var(--radius); } .rows thead th:last-child { border-top-right-radius: var(--radius); }
.rows tbody tr:last-child > * { border-bottom: 0; }
.rows tbody th { font-weight: 600; min-width: 8rem; }
.rows td { overflow-wrap: break-word; }
.rows td[data-label='What happens'], .rows td[data-label=Message] { overflow-wrap: anywhere; min-width: 12rem; }
.move { white-space: nowrap; }
.bar { display: block; width: 100%; min-width: 8rem; height: 1.5rem; }
.bar .planned { fill: var(--line); stroke: var(--strong); vector-effect: non-scaling-stroke; }
.bar .actual { fill: var(--tone); }
.bar .now { fill: var(--text); }
@media (forced-colors: active) { .bar .actual { fill: Highlight; } .bar .now { fill: CanvasText; } }
.rows td[data-label='Plan and progress'] { width: 40%; }
.empty { padding: var(--6) var(--5); text-align: center; background: var(--surface); border: 1px dashed var(--strong); border-radius: var(--radius); color: var(--muted); }
.empty p { margin-inline: auto; }
.empty .command { margin-inline: auto; }
details { margin: 0 0 var(--4); }
summary { cursor: pointer; font-weight: 600; padding: var(--2) 0; }
label { display: block; font-weight: 600; margin-bottom: var(--1); }
input, select { font: inherit; width: 100%; max-width: 32rem; min-height: 2.5rem; padding: .4em .75em; border: 1px solid var(--strong); border-radius: 8px; background: var(--surface); color: var(--text); margin-bottom: var(--4); }
@media (max-width: 40rem) {
  .rows, .rows tbody, .rows tr, .rows td, .rows tbody th { display: block; }
  .rows thead { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; }
  .rows tr { padding: var(--3) var(--4); border-bottom: 1px solid var(--line); }
  .rows tbody tr:last-child { border: 0; }
  .rows th, .rows td { padding: .15rem 0; border: 0; }
  .rows caption { display: block; padding: var(--3) var(--4) 0; }
  .rows td[data-label] { position: relative; padding-inline-start: 7.25rem; min-height: 1.6em; }
  .rows td[data-label]::before { content: attr(data-label); position: absolute; inset-inline-start: 0; width: 7rem; color: var(--muted); }
  .rows td[data-label]:empty { display: none; }
  .rows td[data-label='Plan and progress'] { width: auto; }
  .card, .notice { padding: var(--4); }
  .move { white-space: normal; }
}
`;

export const STYLE = TOKENS + FRAME + PARTS;
