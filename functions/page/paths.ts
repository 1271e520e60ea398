/** Where each page is. Names are encoded: a cluster's name may hold what a URL gives a meaning to. */
import type { NamespacedName } from "../../shared/policy/facts.ts";

const join = (...parts: readonly string[]) => `/${parts.map(encodeURIComponent).join("/")}`;

export const fleetPath = () => "/";
/** `to`: the page to come back to. */
export const signInPath = (to: string) => `/signin?to=${encodeURIComponent(to)}`;
export const clusterPath = (cluster: string) => join("fleet", cluster);
export const nodePath = (cluster: string, node: string) => join("fleet", cluster, "nodes", node);
export const vmPath = (cluster: string, { namespace, name }: NamespacedName) =>
  join("fleet", cluster, "vms", namespace, name);
export const ACTS = ["evacuate", "cancel", "retry"] as const;
export type Act = (typeof ACTS)[number];
/** GET asks for confirmation, POST does it. */
export const actPath = (cluster: string, vm: NamespacedName, act: Act) => `${vmPath(cluster, vm)}/${act}`;
