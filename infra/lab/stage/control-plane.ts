/**
 * Chooses a sandbox's control plane. LIFEBOAT_CONTROL_PLANE may contain the path of a folder with real programs.
 * Otherwise the control plane is simulated.
 */
import { type Sandbox, type SandboxOptions, startSandbox } from "../../sandbox/index.ts";

const binaries = process.env["LIFEBOAT_CONTROL_PLANE"] ?? "";

export const IS_REAL = binaries !== "";

export async function startSandboxAsChosen(options: SandboxOptions = {}): Promise<Sandbox> {
  return await startSandbox(IS_REAL ? { ...options, controlPlane: { binaries, reuse: true } } : options);
}
