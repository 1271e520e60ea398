/** Asking the API server whose token one is, and what that user may do. */
import * as z from "zod/mini";
import { parseAnswer } from "./read.ts";
import type { Send } from "./transport.ts";

const User = z.lazy(() =>
  z.object({
    username: z._default(z.string(), ""),
    uid: z.optional(z.string()),
    groups: z._default(z.array(z.string()), []),
    extra: z.optional(z.record(z.string(), z.array(z.string()))),
  }),
);
const Reviewed = z.lazy(() =>
  z.object({
    status: z.object({
      authenticated: z._default(z.boolean(), false),
      audiences: z._default(z.array(z.string()), []),
      user: z.optional(User),
    }),
  }),
);
const Access = z.lazy(() => z.object({ status: z.object({ allowed: z.boolean() }) }));

export type ReviewedUser = z.output<typeof User>;

/** In the whole cluster. */
export interface Right {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
}

const TOKENS = "/apis/authentication.k8s.io/v1/tokenreviews";
const ACCESS = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
const OWN_ACCESS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

export function identityReviews(send: Send) {
  return {
    /** Undefined: of no user, or not for this audience. An authenticator that knows no audiences names none. */
    async userOf(token: string, audience: string): Promise<ReviewedUser | undefined> {
      const spec = { token, audiences: [audience] };
      const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec };
      const answer = await send({ method: "POST", path: TOKENS, body });
      const { authenticated, audiences, user } = parseAnswer(Reviewed, answer.body, `POST ${TOKENS}`).status;
      const isFor = authenticated && audiences.includes(audience);
      return isFor && user !== undefined && user.username !== "" ? user : undefined;
    },
    async isAllowed({ username: user, ...rest }: ReviewedUser, right: Right): Promise<boolean> {
      const spec = { user, ...rest, resourceAttributes: right };
      const body = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec };
      const answer = await send({ method: "POST", path: ACCESS, body });
      return parseAnswer(Access, answer.body, `POST ${ACCESS}`).status.allowed;
    },
    /** Every account may ask this. */
    async mayI(right: Right): Promise<boolean> {
      const spec = { resourceAttributes: right };
      const body = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec };
      const answer = await send({ method: "POST", path: OWN_ACCESS, body });
      return parseAnswer(Access, answer.body, `POST ${OWN_ACCESS}`).status.allowed;
    },
  };
}
