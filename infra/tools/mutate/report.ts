/**
 * The report: a line for each mutation, with what became of it, and the score. It is read again by `--from`.
 * Columns are separated by tabs: outcome, place, kind, before, after, the source line (and its number among equals).
 */
import type { Mutation } from "./sample.ts";

/** Killed by a test file; survived those that reach it; reached by none. */
export type Outcome = { readonly name: "killed"; readonly by: string } | { readonly name: "SURVIVED" | "UNREACHED" };

export interface Tried {
  readonly mutation: Mutation;
  readonly outcome: Outcome;
}

export function rowOf({ mutation, outcome }: Tried): string {
  const { key, line } = mutation;
  const [file = "", ...rest] = key.split("\t");
  const by = outcome.name === "killed" ? ` by ${outcome.by}` : "";
  return [`${outcome.name}${by}`, `${file}:${line}`, ...rest].join("\t");
}

/** The keys of a report's mutations, in its order. */
export function keysIn(report: string): readonly string[] {
  return report
    .split("\n")
    .filter((row) => /^(killed|SURVIVED|UNREACHED|GONE)/.test(row))
    .map((row) => {
      const [, place = "", ...rest] = row.split("\t");
      return [place.replace(/:\d*$/, ""), ...rest].join("\t");
    });
}

export function goneRow(key: string): string {
  const [file = "", ...rest] = key.split("\t");
  return ["GONE", `${file}:`, ...rest].join("\t");
}

export function scoreOf(tried: readonly Tried[]): string {
  const count = (name: Outcome["name"]) => tried.filter(({ outcome }) => outcome.name === name).length;
  const killed = count("killed");
  const score = tried.length === 0 ? 0 : (100 * killed) / tried.length;
  const rest = `survived ${count("SURVIVED")}, not reached by any test ${count("UNREACHED")}`;
  return `${tried.length} mutations: killed ${killed}, ${rest}; score ${score.toFixed(1)} %`;
}
