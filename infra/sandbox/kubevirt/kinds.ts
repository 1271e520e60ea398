/** Reads KubeVirt's CustomResourceDefinitions. */
import { readFileSync } from "node:fs";
import { load } from "js-yaml";
import type { KubeObject } from "../apiserver/objects.ts";

function definitionsIn(name: string): readonly KubeObject[] {
  const text = readFileSync(new URL(`definitions/${name}.yaml`, import.meta.url), "utf8");
  return (load(text) as { readonly definitions: readonly KubeObject[] }).definitions;
}

export const KUBEVIRT_DEFINITIONS = ["instances", "migrations", "others", "plugins"].flatMap(definitionsIn);
