/** Permissions that `lifeboat doctor` asks about: those of Lifeboat's accounts, and the reader's own. */
import { isAnnotating } from "../../../shared/policy/annotations/descheduler-annotations.ts";
import { GUARD_CAUSES, isGateOn } from "../../../shared/policy/guard/guarded.ts";
import { LIFEBOAT_NAMESPACE } from "../../../shared/policy/names.ts";
import type { Settings } from "../../../shared/policy/settings.ts";
import { isShieldWanted } from "../../../shared/policy/shield/shield.ts";
import granted from "./permissions.json" with { type: "json" };

export interface Permission {
  readonly verb: string;
  readonly group: string;
  /** And its subresource. */
  readonly resource: string;
  /** Empty: any. */
  readonly name: string;
  /** Empty: all, or the cluster. */
  readonly namespace: string;
}

export interface Granted extends Permission {
  /** Below `infra/`. */
  readonly file: string;
  readonly without: string;
}

export const GRANTED: readonly Granted[] = granted;

export function permissionText({ verb, group, resource, name, namespace }: Permission): string {
  const what = [group, resource, name].filter(Boolean).join("/");
  return `${verb} ${what}${namespace === "" ? "" : ` in namespace ${namespace}`}`;
}

function own(verb: string, group: string, resource: string, more: Partial<Permission> = {}): Permission {
  return { verb, group, resource, name: "", namespace: "", ...more };
}

const INSIDE = { namespace: LIFEBOAT_NAMESPACE };
const WEBHOOKS = "validatingwebhookconfigurations";

/** What the reader needs for each part of the examination. */
export const OWN = {
  kubevirt: own("list", "kubevirt.io", "kubevirts"),
  vmis: own("list", "kubevirt.io", "virtualmachineinstances"),
  pods: own("list", "", "pods"),
  evict: own("create", "", "pods/eviction"),
  webhooks: own("get", "admissionregistration.k8s.io", WEBHOOKS),
  configuration: own("get", "lifeboat.dev", "lifeboatconfigurations", { name: "lifeboat" }),
  access: own("create", "authorization.k8s.io", "subjectaccessreviews"),
  relay: own("get", "apps", "deployments", { name: "lifeboat-relay", ...INSIDE }),
  inside: own("get", "apps", "deployments", { name: "lifeboat-server", ...INSIDE }),
  site: own("get", "", "configmaps", { name: "lifeboat-relay", ...INSIDE }),
  tokens: own("list", "", "secrets", INSIDE),
  plugin: own("get", "plugin.kubevirt.io", "plugins", { name: "lifeboat-shield" }),
} as const satisfies Record<string, Permission>;

export function filesNeeded(settings: Settings): readonly string[] {
  const isGuarding = GUARD_CAUSES.some((cause) => isGateOn(cause, settings));
  return [
    "kubernetes/rbac.yaml",
    ...optional("guard", isGuarding),
    ...optional("descheduler-support", isAnnotating(settings)),
    ...optional("descheduling", settings.featureGates.includes("EvictionsInBackground")),
    ...optional("shield", isShieldWanted(settings)),
  ];
}

function optional(name: string, isNeeded: boolean): readonly string[] {
  return isNeeded ? [`kubernetes/optional/${name}/${name}.yaml`] : [];
}
