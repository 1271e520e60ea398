/** Checks that each exported name of the product has one meaning. A search for a name then finds one declaration. */
import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const FILES = globSync(["shared/**/*.ts", "functions/**/*.ts", "infra/{cli,relay,server}/**/*.ts"], { cwd: ROOT });
const EXPORTED = /^export (?:async )?(?:function\*?|const|class|interface|type) (\w+)/gm;

/** Names that several files may export, with the reason. */
const SHARED_NAMES: Readonly<Record<string, string>> = {
  Arguments: "each plugin of descheduling has its own",
  refuseUnread: "evictions.ts and deletions.ts have the same parts",
  Toleration: "the schema and its type",
  pause: "the command, and the relay's",
  retry: "the command, and what it asks for",
  plan: "the command, and the plan of an installation",
  Plan: "what a reconcile is to do, and the order of a maintenance",
  status: "the command, and the status of an Evacuation",
  shield: "the feature, and the change that sets its label",
};

const places = FILES.flatMap((file) => {
  const names = new Set([...readFileSync(`${ROOT}${file}`, "utf8").matchAll(EXPORTED)].map(([, name = ""]) => name));
  return [...names].map((name) => ({ name, file }));
});
const several = new Map([...Map.groupBy(places, ({ name }) => name)].filter(([, where]) => where.length > 1));

test("no two files export the same name, except the listed ones", () => {
  const found = [...several].filter(([name]) => !(name in SHARED_NAMES));
  expect(found.map(([name, where]) => `${name}: ${where.map(({ file }) => file).join(", ")}`)).toEqual([]);
});

test("each listed name is exported by several files", () => {
  expect(Object.keys(SHARED_NAMES).filter((name) => !several.has(name))).toEqual([]);
});
