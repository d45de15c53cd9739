export { isDeeperThan } from './depth.js';
export { parseJson, parseJsonOrUndefined } from './json.js';
export { parseKubeadmRefusal, type KubeadmRefusal } from './kubeadm.refusal.js';
export { parseKubeletConfiguration, type KubeletConfiguration } from './kubelet.js';
export { DEPTH_MAX, type ParseLimits } from './limits.js';
export { ParseFailure, type ParseFailureReason } from './parse.failure.js';
export { select, type Selection } from './select.js';
export { parsePlacedYaml, parseYaml, parseYamlDocuments, type PlacedDocument, type YamlLimits } from './yaml.js';
