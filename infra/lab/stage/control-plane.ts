/**
 * Chooses a sandbox's control plane: real programs if LIFEBOAT_CONTROL_PLANE names their folder, otherwise a simulated
 * control plane.
 */
import { type Sandbox, type SandboxOptions, startSandbox } from "../../sandbox/index.ts";

const binaries = process.env["LIFEBOAT_CONTROL_PLANE"] ?? "";

export const IS_REAL = binaries !== "";

export async function startSandboxAsChosen(options: SandboxOptions = {}): Promise<Sandbox> {
  return await startSandbox(IS_REAL ? { ...options, controlPlane: { binaries, reuse: true } } : options);
}
