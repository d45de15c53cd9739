// For specs of other projects: a cluster's authority and kubeadm's kubeconfig.
export { CertificateAuthority } from '../kubernetes/certificates/certificate.authority.js';
export { kubeconfigText } from '../kubernetes/certificates/kubeconfig.js';
