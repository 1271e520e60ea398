/** Reads the roles in machine-roles.yaml. Simulated and real control planes have the same roles. */
import { readFileSync } from "node:fs";
import { loadAll } from "js-yaml";
import type { Manifest } from "./rbac.ts";

/** Returns the roles. The caller may change them. */
export function machineRoles(): readonly Manifest[] {
  return loadAll(readFileSync(new URL("machine-roles.yaml", import.meta.url), "utf8")) as unknown as Manifest[];
}
