/** What the API server answers about an account: whose a token is, and what that user may do. */
import * as z from "zod/mini";
import { kind } from "./fields.ts";

const User = z.lazy(() =>
  z.object({
    username: z._default(z.string(), ""),
    uid: z.optional(z.string()),
    groups: z._default(z.array(z.string()), []),
    extra: z.optional(z.record(z.string(), z.array(z.string()))),
  }),
);
export type ReviewedUser = z.output<typeof User>;

export const TokenReview = kind(
  () => ({
    status: z.object({
      authenticated: z._default(z.boolean(), false),
      audiences: z._default(z.array(z.string()), []),
      user: z.optional(User),
    }),
  }),
  ({ status }) => status,
);

export const Access = kind(
  () => ({ status: z.object({ allowed: z.boolean() }) }),
  ({ status }) => status,
);

/** Without name and namespace: in the whole cluster. */
export interface Right {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly name?: string;
  readonly namespace?: string;
}
