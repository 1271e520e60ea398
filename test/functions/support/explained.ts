/** Asking explain, and what it answers, as far as tests look at it. */
import { expect } from "vitest";
import * as z from "zod/mini";
import { asOperator, type Doors } from "./doors.ts";
import { inOrder } from "./written.ts";

const Explained = z.object({
  decision: z.object({
    allowed: z.boolean(),
    reason: z.string(),
    message: z.optional(z.string()),
    warnings: z._default(z.array(z.string()), []),
  }),
  actions: z.array(z.string()),
  facts: z.object({ vmi: z.optional(z.looseObject({})) }),
});

type Explained = Omit<z.output<typeof Explained>, "actions"> & { readonly actions: readonly string[] };

export async function explain(
  doors: Doors,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<Explained> {
  const answer = await doors.request(`/clusters/prod/explain/pods/${namespace}/${name}`, { headers: asOperator });
  expect(answer.code).toBe(200);
  const explained = Explained.parse(answer.body);
  return { ...explained, actions: inOrder(explained.actions) };
}
