/** Reads the API server's YAML data files. */
import { readFileSync } from "node:fs";
import { loadAll } from "js-yaml";
import { viewAs } from "./objects.ts";

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
export function readYaml<T>(file: string): T {
  const documents = loadAll(readFileSync(new URL(file, import.meta.url), "utf8"));
  return viewAs(documents.length === 1 ? documents[0] : documents);
}
