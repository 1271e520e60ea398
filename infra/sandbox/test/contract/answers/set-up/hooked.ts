/** A webhook in force: configured, and known to the server. */
import { type Configured, type Respond, SERVING, allow, configuration } from "../../webhook.ts";
import { configMap, del, post } from "../../requests.ts";
import { type Step, type World, until } from "../world.ts";

/** The differences from a validating webhook for evictions in the second namespace. */
export type Hooked = Partial<Configured>;

/** The webhook as it was configured for the recording. */
const RECORDED = { name: "hook.fid.io", failurePolicy: "Fail", timeoutSeconds: 2 };

/** If only the answer changes, the configuration stays. */
export function hooked(webhook: Hooked, respond: Respond): Step {
  return async (world) => {
    const form: Configured = { kind: "Validating", namespace: "fid-b", ...RECORDED, ...webhook };
    const text = JSON.stringify(form);
    if (world.configured !== text) await configure(world, form);
    world.configured = text;
    world.hook.respond = respond;
  };
}

async function configure(world: World, form: Configured): Promise<void> {
  await unhooked(world);
  await world.take(post(pluralOf(form.kind), configuration(world.hook, form)));
  const marker = post(`/api/v1/namespaces/${form.namespace}/configmaps?dryRun=All`, configMap("marker"));
  world.hook.respond = allow;
  await world.take(until(marker, () => world.hook.marked));
}

export async function unhooked(world: World): Promise<void> {
  for (const kind of ["Validating", "Mutating"] as const)
    for (const namespace of ["fid", "fid-b"]) await world.target.send(del(`${pluralOf(kind)}/${namespace}`));
  world.configured = "";
}

function pluralOf(kind: Configured["kind"]): string {
  return `${SERVING}/${kind.toLowerCase()}webhookconfigurations`;
}
