import * as z from 'zod';
import { Sha256 } from './digests.js';

/**
 * Where a release has been run: on real hosts, only in the lab, which simulates Kubernetes, or nowhere: its row is
 * derived from the sources of Kubernetes.
 */
export const VERIFICATIONS = ['real', 'lab', 'listed'] as const;
export const Verification = z.enum(VERIFICATIONS);
export type Verification = z.infer<typeof Verification>;

/** Texts of a release are written into scripts, YAML and TOML: only characters of a version are allowed. */
const formed = (form: RegExp, example: string) =>
  z.string().regex(form, { error: `is not a version such as ${example}` });

export const ReleaseVersion = formed(/^v1\.\d{1,3}\.\d{1,3}$/, 'v1.34.4');

const Programs = z.strictObject({
  kubeadm: Sha256,
  kubelet: Sha256,
  kubectl: Sha256,
  cniPlugins: Sha256.optional().describe('Absent: Fairlead has the one of this version, or none is known'),
});

/** A Kubernetes version that can be built, with its components. */
export const KubernetesRelease = z
  .strictObject({
    version: ReleaseVersion,
    kubeadmApi: z.enum(['kubeadm.k8s.io/v1beta3', 'kubeadm.k8s.io/v1beta4']),
    containerd: formed(/^\d{1,3}\.\d{1,3}\.\d{1,3}$/, '1.7.24').describe('Of new nodes'),
    etcd: formed(/^\d{1,3}\.\d{1,3}\.\d{1,3}-\d{1,3}$/, '3.6.5-0').describe(
      'Tag of the image that this kubeadm requests (kubeadm config images list)',
    ),
    coredns: formed(/^v\d{1,3}\.\d{1,3}\.\d{1,3}$/, 'v1.12.1').describe('Likewise'),
    pause: formed(/^\d{1,3}\.\d{1,3}(\.\d{1,3})?$/, '3.10.1').describe('Likewise'),
    cniPlugins: formed(/^v\d{1,3}\.\d{1,3}\.\d{1,3}$/, 'v1.9.1').describe(
      'Version of github.com/containernetworking/plugins',
    ),
    verified: Verification,
    sha256: z
      .strictObject({ amd64: Programs.optional(), arm64: Programs.optional() })
      .nullable()
      .describe('Of the programs on the official release site, by architecture; null: not known'),
  })
  .meta({ id: 'KubernetesRelease' });
export type KubernetesRelease = z.infer<typeof KubernetesRelease>;

/** Where an installation got a release from. */
export const RELEASE_ORIGINS = ['built-in', 'catalogue', 'added'] as const;
export type ReleaseOrigin = (typeof RELEASE_ORIGINS)[number];
