/**
 * The scales that all of the style sheet is made of: type, space, colours in both themes.
 * Each colour of text has a contrast of at least 4.5 on each surface it is used on; no meaning is carried by colour alone.
 */
export const TOKENS = `:root {
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
