/** Reuses control planes, because starting a control plane needs all cores for several seconds. */
import { type ControlPlaneOptions, type RealControlPlane, startRealControlPlane } from "./control-plane.ts";

const idle = new Map<string, RealControlPlane[]>();

export async function borrowControlPlane(options: ControlPlaneOptions): Promise<RealControlPlane> {
  const key = `${options.directory} ${options.port}`;
  const plane = idle.get(key)?.pop() ?? (await startRealControlPlane(options));
  return { ...plane, stop: () => giveBack(key, plane) };
}

/** Makes a control plane available to the next caller. Stops it if a program was killed or the cleanup fails. */
async function giveBack(key: string, plane: RealControlPlane): Promise<void> {
  const isClear = plane.isWhole && (await plane.clear().then(...TRUE_OR_FALSE));
  if (isClear) idle.set(key, [...(idle.get(key) ?? []), plane]);
  else await plane.stop();
}

const TRUE_OR_FALSE = [() => true, () => false] as const;
