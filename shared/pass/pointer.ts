/**
 * Pointers: where something has happened, as an event or a caller says. They only say where to look; the world is read anew.
 * Owns: their kinds. Does not own: where they come from (events, reviews), what is found there (pass.ts).
 */
import type { Domain } from "../policy/pressure/pressure.ts";

export type Pointer =
  | { readonly kind: "VirtualMachineInstance"; readonly namespace: string; readonly name: string }
  | { readonly kind: "Pod"; readonly namespace: string; readonly name: string }
  | { readonly kind: "Node"; readonly name: string }
  /** A kubelet has begun to end this pod; the API does not show it yet. */
  | { readonly kind: "EndingPod"; readonly namespace: string; readonly name: string; readonly by: string }
  /** Only a node agent sees that the guest of this VMI is being shut down. */
  | {
      readonly kind: "Domain";
      readonly namespace: string;
      readonly name: string;
      readonly uid: string;
      readonly domain: Domain;
    };

export function nodePointer(name: string): Pointer {
  return { kind: "Node", name };
}
