/** Uses control planes again, because the start of a control plane uses all cores for seconds. */
import { type ControlPlaneOptions, type RealControlPlane, startRealControlPlane } from "./control-plane.ts";

const idle = new Map<string, RealControlPlane[]>();

export async function borrowControlPlane(options: ControlPlaneOptions): Promise<RealControlPlane> {
  const key = `${options.directory} ${options.port}`;
  const plane = idle.get(key)?.pop() ?? (await startRealControlPlane(options));
  return { ...plane, stop: () => giveBack(key, plane) };
}

/**
 * Keeps a control plane for the next caller, until this process ends. Ends the control plane now if a program was
 * killed or the cleanup fails.
 */
async function giveBack(key: string, plane: RealControlPlane): Promise<void> {
  const isClear = plane.isWhole && (await plane.clear().then(...TRUE_OR_FALSE));
  if (isClear) idle.set(key, [...(idle.get(key) ?? []), plane]);
  else await plane.stop();
}

const TRUE_OR_FALSE = [() => true, () => false] as const;
