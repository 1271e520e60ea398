/** What a visitor does on the page: evacuate, cancel, try again. */
import { cancelEvacuations, foreseeCancel } from "../../shared/pass/api.ts";
import { type Asking, evacuateVm, retryVm } from "../../shared/pass/api.ts";
import { reconcileVmi } from "../../shared/pass/reconcile.ts";
import { foresee, retryOf } from "../../shared/policy/evacuation/api.ts";
import { isFinal, type NamespacedName } from "../../shared/policy/facts.ts";
import { reconciling } from "../reconciling.ts";
import { RejectionError } from "../rejection.ts";
import type { Target } from "../target.ts";
import { readForm } from "./form.ts";
import type { ActResult } from "./parts/act-words.ts";
import { type Act, vmPath } from "./paths.ts";
import { confirmPage, type Foreseen } from "./views/confirm.ts";
import { readVm } from "./vm-reads.ts";
import type { PageContext, Visit } from "./visit.ts";

const ACT_SECONDS = 10;

export interface Subject {
  readonly act: Act;
  readonly key: NamespacedName;
}

export async function askBefore(c: PageContext, visit: Visit, { act, key }: Subject): Promise<Response> {
  mustBeAllowed(visit);
  return c.html(await confirmPage(await foreseen(act, key, visit), visit.visitor.name));
}

/** The page that they come back to says what has come of it. */
export async function perform(c: PageContext, visit: Visit, { act, key }: Subject): Promise<Response> {
  await readForm(c);
  mustBeAllowed(visit);
  const { target, visitor } = visit;
  const result = await done(act, key, visit);
  target.log({ level: "info", message: "a visitor has acted", act, ...key, visitor: visitor.name, result });
  await reconciling(target, ACT_SECONDS, (deps) => reconcileVmi(key, deps));
  return c.redirect(`${vmPath(target.name, key)}?result=${result}`, 303);
}

function mustBeAllowed({ visitor }: Visit): void {
  if (!visitor.mayAct) throw new RejectionError("Forbidden");
}

async function done(act: Act, key: NamespacedName, { target, visitor }: Visit): Promise<ActResult> {
  const cluster = target.connect(ACT_SECONDS);
  const now = target.platform.now();
  const asking: Asking = { requestedBy: visitor.name, cluster, now };
  switch (act) {
    case "evacuate":
      return (await evacuateVm(key, asking)).result;
    case "retry": {
      const { result } = await retryVm(key, asking);
      return result === "Begun" || result === "Joined" ? "Retried" : result;
    }
    case "cancel": {
      const { settings } = await target.settings(cluster);
      return (await cancelEvacuations(key, { cluster, settings, now })).result;
    }
  }
}

async function foreseen(act: Act, key: NamespacedName, { target }: Visit): Promise<Foreseen> {
  const view = await readVm(key, target);
  const { vmi, evacuations, migrations = [], settings } = view;
  const now = target.platform.now();
  const known = { cluster: target.name, key, act, vmi, evacuations, settings, now };
  const isRunning = vmi !== undefined && !isFinal(vmi);
  const next = isRunning ? foresee(vmi, { evacuations, migrations, settings, now }) : undefined;
  return {
    ...known,
    ...(next && { next }),
    ...(isRunning && act === "retry" ? { retry: retryOf(vmi, evacuations) } : {}),
    ...(act === "cancel" ? { cancel: (await cancelForeseen(key, target, { settings, now })).result } : {}),
  };
}

function cancelForeseen(key: NamespacedName, target: Target, moment: Pick<Foreseen, "settings" | "now">) {
  return foreseeCancel(key, { cluster: target.connect(ACT_SECONDS), ...moment });
}
