export * from "../../kube/schemas/kubernetes.ts";
