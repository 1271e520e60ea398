/**
 * Which control plane a sandbox has where nobody has chosen one: LIFEBOAT_CONTROL_PLANE names the folder of a real one's
 * programs. Without it the control plane is simulated.
 */
import { type Sandbox, type SandboxOptions, startSandbox } from "../../sandbox/index.ts";

const binaries = process.env["LIFEBOAT_CONTROL_PLANE"] ?? "";

export const IS_REAL = binaries !== "";

export async function startSandboxAsChosen(options: SandboxOptions = {}): Promise<Sandbox> {
  return await startSandbox(IS_REAL ? { ...options, controlPlane: { binaries, reuse: true } } : options);
}
