/**
 * The mutations that are tried. A mutation is identified by its contents, not by its line number, so the same seed draws the same ones
 * after other lines have changed, and a report names the ones to try again.
 */
import { createHash } from "node:crypto";
import { type Kind, type Place, placesIn } from "./places.ts";

export interface Mutation extends Place {
  readonly file: string;
  readonly line: number;
  /** The whole line, without its indentation. */
  readonly text: string;
  readonly key: string;
}

/** There are more texts than anything else, and few of them decide. */
const WEIGHTS: Partial<Record<Kind, number>> = { text: 0.25, property: 0.5 };

export function mutationsOf(file: string, source: string): readonly Mutation[] {
  const keys = new Map<string, number>();
  return placesIn(source).map((place) => {
    const line = source.slice(0, place.start).split("\n").length;
    const text = (source.split("\n")[line - 1] ?? "").trim();
    const plain = keyOf({ file, text, ...place });
    const seen = keys.get(plain) ?? 0;
    keys.set(plain, seen + 1);
    return { ...place, file, line, text, key: seen === 0 ? plain : `${plain}\t${seen}` };
  });
}

/** A weighted sample: the smallest of -ln(u) / weight, where u is drawn from the seed and from what the mutation is. */
export function sampleOf(mutations: readonly Mutation[], seed: number, size: number): readonly Mutation[] {
  const drawn = mutations.map((mutation) => {
    const hash = createHash("sha256").update(`${seed}\t${mutation.key}`).digest();
    const u = (hash.readUInt32BE() + 1) / (0xff_ff_ff_ff + 2);
    return { mutation, order: -Math.log(u) / (WEIGHTS[mutation.kind] ?? 1) };
  });
  return drawn
    .toSorted((a, b) => a.order - b.order)
    .slice(0, size)
    .map(({ mutation }) => mutation);
}

/** Those that a report lists, where their line still exists: in the same file, or in the one that it has moved to. */
export function sameAs(mutations: readonly Mutation[], keys: readonly string[]): readonly (Mutation | undefined)[] {
  const byKey = Map.groupBy(mutations, ({ key }) => key);
  const byContents = Map.groupBy(mutations, ({ key }) => withoutFile(key));
  return keys.map((key) => {
    const moved = byContents.get(withoutFile(key)) ?? [];
    return byKey.get(key)?.[0] ?? (moved.length === 1 ? moved[0] : undefined);
  });
}

function keyOf({ file, text, kind, before, after }: Pick<Mutation, "file" | "text" | "kind" | "before" | "after">) {
  return [file, kind, before, after, text].join("\t");
}

function withoutFile(key: string): string {
  return key.slice(key.indexOf("\t"));
}
