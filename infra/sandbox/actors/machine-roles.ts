/**
 * Reads machine-roles.yaml: the roles of the simulated kubelets and virt-handlers, and of Karpenter. They are the same
 * on simulated and real control planes.
 */
import { readFileSync } from "node:fs";
import { loadAll } from "js-yaml";
import type { Manifest } from "./rbac.ts";

/** Returns the roles. The caller may change them. */
export function machineRoles(): readonly Manifest[] {
  return loadAll(readFileSync(new URL("machine-roles.yaml", import.meta.url), "utf8")) as unknown as Manifest[];
}
