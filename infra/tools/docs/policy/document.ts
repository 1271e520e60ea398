/** The tables of POLICY.md, by the names in their markers (`<!-- table: NAME -->`). */
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

/** Replaces each table in a document by the table that the code renders. Throws for a marker with an unknown name. */
export function withTables(text: string, tables = TABLES): string {
  const rendered = text.replaceAll(MARKED, (_, name: string) => {
    const table = tables[name];
    if (table === undefined) throw new Error(`no table is called "${name}"`);
    return `<!-- table: ${name} -->\n\n${table()}\n\n`;
  });
  return `${rendered.trimEnd()}\n`;
}
