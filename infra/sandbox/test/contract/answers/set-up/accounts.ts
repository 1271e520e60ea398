/** Service accounts with tokens, for questions that the administrator does not ask. */
import { post } from "../../requests.ts";
import { valueAt } from "../../value-at.ts";
import { type Scenes, type Step, type World, keep, until } from "../world.ts";

const RBAC = "/apis/rbac.authorization.k8s.io/v1";

/** An account with these rules everywhere, which include patching VMIs. It asks the following questions. */
export function account(namespace: string, name: string, rules: readonly object[]): readonly Step[] {
  const [accounts, roleName] = [`/api/v1/namespaces/${namespace}/serviceaccounts`, `${namespace}-${name}`];
  const common = { apiVersion: "rbac.authorization.k8s.io/v1", metadata: { name: roleName } };
  const subjects = [{ kind: "ServiceAccount", namespace, name }];
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: roleName };
  const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
  return [
    post(accounts, { apiVersion: "v1", kind: "ServiceAccount", metadata: { name } }),
    post(`${RBAC}/clusterroles`, { ...common, kind: "ClusterRole", rules }),
    post(`${RBAC}/clusterrolebindings`, { ...common, kind: "ClusterRoleBinding", subjects, roleRef }),
    keep("token", post(`${accounts}/${name}/token`, request)),
    async (world) => void (world.token = world.answer("token", "status.token")),
    mayPatch(namespace),
  ];
}

/** A real server's authorizer sees new roles after a delay. */
function mayPatch(namespace: string): Step {
  const resourceAttributes = { namespace, verb: "patch", group: "kubevirt.io", resource: "virtualmachineinstances" };
  const body = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SelfSubjectAccessReview",
    spec: { resourceAttributes },
  };
  const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  return (world: World) =>
    world.take(
      until(post(path, body, { token: world.token }), (seen) => valueAt(seen.body, "status.allowed") === true),
    );
}

export const ACCOUNTS: Scenes = {
  "token: too short a life": {
    before: account("fid-b", "s1", [
      { apiGroups: [""], resources: ["pods"], verbs: ["get", "list"] },
      { apiGroups: [""], resources: ["pods/eviction"], verbs: ["create"] },
      { apiGroups: ["kubevirt.io"], resources: ["virtualmachineinstances"], verbs: ["get", "patch"] },
      { nonResourceURLs: ["/metrics"], verbs: ["get"] },
    ]),
  },
  "token review": {
    asks: (request, world) => ({ ...request, body: { ...Object(request.body), spec: { token: world.token } } }),
  },
};
