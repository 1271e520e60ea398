/** Who the API server takes the caller for: named in what they ask for. */
import * as z from "zod/mini";
import { parseAnswer } from "../../shared/cluster/read.ts";
import type { Connection } from "./connection.ts";

const Review = z.object({ status: z.object({ userInfo: z.object({ username: z.string() }) }) });

/** Every user may ask (system:basic-user). */
export async function whoAmI(connection: Connection): Promise<string> {
  const kind = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
  const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
  const { code, body } = await connection.send()({ method: "POST", path, body: kind, expect: [403, 404] });
  return code < 300 ? parseAnswer(Review, body, `POST ${path}`).status.userInfo.username : "";
}
