/**
 * Chooses a sandbox's control plane. If LIFEBOAT_CONTROL_PLANE contains the path of a folder with real programs, these
 * programs run. Otherwise the control plane is simulated.
 */
import { type Sandbox, type SandboxOptions, startSandbox } from "../../sandbox/index.ts";

const binaries = process.env["LIFEBOAT_CONTROL_PLANE"] ?? "";

export const IS_REAL = binaries !== "";

export async function startSandboxAsChosen(options: SandboxOptions = {}): Promise<Sandbox> {
  return await startSandbox(IS_REAL ? { ...options, controlPlane: { binaries, reuse: true } } : options);
}
