/** `fetch` with the credentials of a kubeconfig: a file's, or those of the pod's own account. */
import { HttpMethod, IsomorphicFetchHttpLibrary, type KubeConfig, RequestContext } from "@kubernetes/client-node";
import type { Fetch } from "../../shared/kube/transport.ts";

const METHODS = new Map<string, HttpMethod>(Object.values(HttpMethod).map((method) => [method, method]));

/** The kubeconfig has the authorization. */
function setHeaders(request: RequestContext, headers: RequestInit["headers"]): void {
  for (const [name, value] of new Headers(headers)) if (name !== "authorization") request.setHeaderParam(name, value);
}

/**
 * Sends requests with a kubeconfig's credentials. client-node makes a new pool of connections for every request. These requests share one
 * pool until a request fails, because the credentials or the cluster's authority may be others by then.
 */
export function kubeFetch(config: KubeConfig): Fetch {
  const library = new IsomorphicFetchHttpLibrary();
  let pool: ReturnType<RequestContext["getDispatcher"]>;
  return async (url, { method = "GET", headers, body, signal }) => {
    const request = new RequestContext(url, METHODS.get(method) ?? HttpMethod.GET);
    setHeaders(request, headers);
    if (typeof body === "string") request.setBody(body);
    if (signal) request.setSignal(signal);
    await config.applySecurityAuthentication(request);
    pool ??= request.getDispatcher();
    if (pool !== undefined) request.setDispatcher(pool);
    const answer = await library
      .send(request)
      .toPromise()
      .catch((error: unknown) => {
        if (signal?.aborted !== true) pool = undefined;
        throw error;
      });
    if (answer.httpStatusCode === 401) pool = undefined;
    // Only the API server's warnings matter among its headers.
    const { warning = "" } = answer.headers;
    return new Response(answer.body.stream(), { status: answer.httpStatusCode, headers: { warning } });
  };
}
