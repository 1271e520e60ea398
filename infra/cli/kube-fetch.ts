/**
 * Requests with a kubeconfig's credentials, in the shape that shared/kube asks for.
 *
 * client-node makes a new pool of connections for every request. Here requests share one, until the cluster refuses the credentials: a
 * plugin may have others by then.
 */
import {
  HttpMethod,
  IsomorphicFetchHttpLibrary,
  type KubeConfig,
  RequestContext,
  type ResponseContext,
} from "@kubernetes/client-node";
import type { Fetch } from "../../shared/kube/transport.ts";

const METHODS = new Map<string, HttpMethod>(Object.values(HttpMethod).map((method) => [method, method]));

export function kubeFetch(config: KubeConfig): Fetch {
  const library = new IsomorphicFetchHttpLibrary();
  let pool: ReturnType<RequestContext["getDispatcher"]>;
  return async (url, { method = "GET", headers, body, signal }) => {
    const request = new RequestContext(url, METHODS.get(method) ?? HttpMethod.GET);
    for (const [name, value] of new Headers(headers)) if (name !== "authorization") request.setHeaderParam(name, value);
    if (typeof body === "string") request.setBody(body);
    if (signal) request.setSignal(signal);
    await config.applySecurityAuthentication(request);
    pool ??= request.getDispatcher();
    if (pool !== undefined) request.setDispatcher(pool);
    const answer = await library.send(request).toPromise();
    if (answer.httpStatusCode === 401) pool = undefined;
    return responseOf(answer);
  };
}

/** Of its headers, only the API server's warnings matter. */
function responseOf({ httpStatusCode, headers: { warning = "" }, body }: ResponseContext): Response {
  return new Response(body.stream(), { status: httpStatusCode, headers: { warning } });
}
