/**
 * Something that Lifeboat does, to be tried with one permission less.
 * Owns: its shape, asking a door. Does not own: the deeds (deeds.ts, descheduling-deed.ts), permissions (least-privilege.ts).
 */
import { asOperator, asWebhook, type Doors } from "../functions/support/doors.ts";
import type { TestCluster } from "../functions/support/test-cluster.ts";

export interface Trial {
  readonly cluster: TestCluster;
  readonly doors: Doors;
}

export interface Steps {
  readonly configuration?: Readonly<Record<string, unknown>>;
  /** With every permission. */
  readonly given?: (trial: Trial) => Promise<unknown>;
  /** With one less. Resolves to what was answered. */
  readonly done: (trial: Trial) => Promise<string>;
}

export async function ask({ doors }: Trial, method: string, path: string): Promise<string> {
  const headers = method === "POST" ? asWebhook : asOperator;
  const { text } = await doors.request(`/clusters/prod${path}`, { method, headers });
  await doors.settle();
  return text;
}
