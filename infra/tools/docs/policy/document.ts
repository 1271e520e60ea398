/** The tables of POLICY.md, keyed by the name in the marker (`<!-- table: NAME -->`). */
import * as guard from "./guard.ts";
import * as tables from "./tables.ts";

export const TABLES: Readonly<Record<string, () => string>> = {
  causes: tables.causeTable,
  strategies: tables.strategyTable,
  answers: tables.answerTable,
  disruptions: guard.disruptionTable,
  release: guard.releaseTable,
  events: tables.eventTable,
  undecided: tables.undecidedTable,
};

const MARKED = /<!-- table: (\w+) -->\n+(?:\|.*\n)*\n*/g;

/** Inserts the rendered tables into a document. Throws an error for an unknown table name. */
export function withTables(text: string, tables = TABLES): string {
  const rendered = text.replaceAll(MARKED, (_, name: string) => {
    const table = tables[name];
    if (table === undefined) throw new Error(`no table is called "${name}"`);
    return `<!-- table: ${name} -->\n\n${table()}\n\n`;
  });
  return `${rendered.trimEnd()}\n`;
}
