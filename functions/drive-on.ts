/**
 * What happens after an answer: the story is told, and passes run until nothing is due.
 * Owns: the bound on that. Does not own: the loop (shared/reconcilers/drive.ts).
 */
import { ClusterError } from "../shared/cluster/failure.ts";
import type { Action } from "../shared/policy/action.ts";
import { DEFAULT_SETTINGS } from "../shared/policy/settings.ts";
import type { Pointer } from "../shared/reconcilers/pointer.ts";
import { reconcile, type Result } from "../shared/reconcilers/pass.ts";
import type { Scope } from "../shared/reconcilers/world.ts";
import type { Target } from "./target.ts";

/** The platform ends what runs after an answer at 30 s: no pass begins after 20, and none takes longer than 5. */
const DRIVE_SECONDS = 20;
const PASS_SECONDS = 5;
/** When a pass could not be made at all. */
const RETRY_SECONDS = 5;

/** Drives the cluster's evacuations on; `named`: where to look besides the VMIs that carry the label. Never throws. */
export async function driveOn(target: Target, named: readonly Pointer[], afterSeconds = 0): Promise<void> {
  const { platform, state } = target;
  if (afterSeconds >= DRIVE_SECONDS) return;
  if (afterSeconds > 0) await platform.sleep(afterSeconds * 1000);
  await state.drives.drive(target.name, named, {
    pass: (asked) => passOver(target, asked, PASS_SECONDS).catch((error: unknown) => failedPass(target, error)),
    now: platform.now,
    sleep: platform.sleep,
    seconds: DRIVE_SECONDS - afterSeconds,
  });
}

/** Tells Events. Never throws: what fails is logged. */
export async function tell(target: Target, story: readonly Action[]): Promise<void> {
  const cluster = target.connect(PASS_SECONDS);
  for (const action of story) {
    try {
      await cluster.act(action, DEFAULT_SETTINGS);
    } catch (error) {
      if (!(error instanceof ClusterError)) throw error;
      target.logFailure("telling an Event", error);
    }
  }
}

function failedPass(target: Target, error: unknown): Result {
  if (!(error instanceof ClusterError)) throw error;
  target.logFailure("driving evacuations", error);
  return { done: {}, failures: 1, requeueAfterSeconds: RETRY_SECONDS };
}

/** One pass of all reconcilers over a scope. */
export async function passOver(target: Target, scope: Scope, seconds: number): Promise<Result> {
  const cluster = target.connect(seconds);
  const { settings } = await target.settings(cluster);
  return await reconcile(scope, {
    cluster,
    settings,
    clock: target.platform.now,
    onFailure: (reconciler, error) => target.logFailure(`reconciling: ${reconciler}`, error),
  });
}
