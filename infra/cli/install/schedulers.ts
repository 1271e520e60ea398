/** Finds the accounts that schedule pods. The guard does not refuse preemptions by an unknown account. */
import * as z from "zod/mini";
import type { Send } from "../../../shared/kube/transport.ts";
import { INSTALL_MESSAGES as MESSAGES } from "./messages.ts";

const SCHEDULER_ROLE = "system:kube-scheduler";
const Named = z.object({ name: z.string() });
const Texts = z._default(z.array(z.string()), []);
const Rule = z.object({ verbs: Texts, resources: Texts });
const Roles = z.object({ items: z.array(z.object({ metadata: Named, rules: z.nullish(z.array(Rule)) })) });
const Subject = z.object({ kind: z.string(), name: z.string(), namespace: z.optional(z.string()) });
const Bindings = z.object({
  items: z.array(z.object({ roleRef: Named, subjects: z._default(z.array(Subject), []) })),
});

/**
 * Returns the accounts whose roles allow binding and deleting pods. Ignores groups. Returns undefined if `roles` or
 * `bindings` is not a list.
 */
function schedulersIn(roles: unknown, bindings: unknown): readonly string[] | undefined {
  const [seen, bound] = [Roles.safeParse(roles).data, Bindings.safeParse(bindings).data];
  if (seen === undefined || bound === undefined) return undefined;
  const scheduling = seen.items.filter(({ rules }) => isOfScheduler(rules ?? []));
  const named = new Set([SCHEDULER_ROLE, ...scheduling.map(({ metadata }) => metadata.name)]);
  const subjects = bound.items.filter(({ roleRef }) => named.has(roleRef.name)).flatMap((one) => one.subjects);
  const usernames = subjects.flatMap(({ kind, name, namespace }) => {
    if (kind === "ServiceAccount") return [`system:serviceaccount:${namespace}:${name}`];
    return kind === "User" ? [name] : [];
  });
  return [...new Set(usernames)];
}

/** Returns whether the rules belong to a scheduler's role. Returns false if a role has only the resource `*`. */
function isOfScheduler(rules: readonly z.output<typeof Rule>[]): boolean {
  const may = (verb: string, resource: string) =>
    rules.some(({ verbs, resources }) => resources.includes(resource) && (verbs.includes(verb) || verbs.includes("*")));
  return may("create", "pods/binding") && may("delete", "pods");
}

const RBAC = "/apis/rbac.authorization.k8s.io/v1";

/**
 * Finds the accounts of schedulers in ClusterRoles and their bindings. Returns undefined if the caller may not list
 * ClusterRoles or bindings.
 */
export async function findSchedulers(send: Send): Promise<readonly string[] | undefined> {
  const list = (plural: string) => send({ method: "GET", path: `${RBAC}/${plural}`, expect: [403, 404] });
  const [roles, bindings] = await Promise.all([list("clusterroles"), list("clusterrolebindings")]);
  return schedulersIn(roles.body, bindings.body);
}

/**
 * Returns the unknown schedulers, and the command that adds them to the guard's settings. Returns undefined if all
 * schedulers are known.
 */
export function schedulerFix(schedulers: readonly string[], requesters: readonly string[]) {
  const unknown = schedulers.filter((name) => !requesters.includes(name));
  if (unknown.length === 0) return undefined;
  const patch = JSON.stringify({ spec: { guard: { requesters: [...requesters, ...unknown] } } });
  return {
    unknown: unknown.join(", "),
    fix: `kubectl patch lifeboatconfiguration lifeboat --type merge -p '${patch}', then lifeboat install`,
  };
}

/** Returns a warning about schedulers that the guard's settings do not contain. */
export async function adviseOnSchedulers(send: Send, requesters: readonly string[]): Promise<string> {
  const schedulers = await findSchedulers(send);
  if (schedulers === undefined) return MESSAGES.schedulersUnread;
  const found = schedulerFix(schedulers, requesters);
  return found === undefined ? "" : MESSAGES.schedulersUnknown(found.unknown, found.fix);
}
