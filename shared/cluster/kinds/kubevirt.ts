export * from "../../kube/schemas/kubevirt.ts";
