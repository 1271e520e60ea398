/** Where each page is. Names are encoded: a cluster's name may hold what a URL gives a meaning to. */
import { html } from "hono/html";
import type { NamespacedName } from "../../shared/kube/facts.ts";
import { type Html, visible } from "./components.ts";

const join = (...parts: readonly string[]) => `/${parts.map(encodeURIComponent).join("/")}`;

export const FLEET_PATH = "/";
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

export function vmLink(cluster: string, vm: NamespacedName): Html {
  return html`<a href="${vmPath(cluster, vm)}">${visible(`${vm.namespace}/${vm.name}`)}</a>`;
}

export function nodeLink(cluster: string, node: string | undefined): Html | "" {
  return node === undefined || node === "" ? "" : html`<a href="${nodePath(cluster, node)}">${visible(node)}</a>`;
}

export function move(cluster: string, from: string | undefined, to: string | undefined): Html | "" {
  if (from === undefined && to === undefined) return "";
  return html`<span class="move"
    >${nodeLink(cluster, from)}${to === undefined ? "" : html` → ${nodeLink(cluster, to)}`}</span
  >`;
}

type Step = readonly [name: string, path?: string];

/** The last step is the page itself. */
export function crumbs(...steps: readonly Step[]): Html {
  const stepOf = ([name, path]: Step) =>
    path === undefined
      ? html`<li><span aria-current="page">${visible(name)}</span></li>`
      : html`<li><a href="${path}">${visible(name)}</a></li>`;
  return html`<nav class="crumbs" aria-label="Breadcrumbs">
    <ol>
      ${[["Fleet", FLEET_PATH] as const, ...steps].map(stepOf)}
    </ol>
  </nav>`;
}
