import type { CloudController } from './cluster-spec.js';

export interface CloudChart {
  /** The application of the catalogue. */
  readonly application: string;
  readonly version: string;
}

/** The charts of the clouds' own projects. That of the lab is made by its tests. */
export const CLOUD_CHARTS = {
  aws: {
    controller: { application: 'aws-cloud-controller-manager', version: '0.0.10' },
    storage: { application: 'aws-ebs-csi-driver', version: '2.66.0' },
  },
  lab: { controller: { application: 'lab-cloud-controller', version: '1.0.0' } },
  openstack: {
    controller: { application: 'openstack-cloud-controller-manager', version: '2.33.0' },
    storage: { application: 'openstack-cinder-csi', version: '2.33.0' },
  },
} as const satisfies Readonly<
  Record<CloudController, { readonly controller: CloudChart; readonly storage?: CloudChart }>
>;
