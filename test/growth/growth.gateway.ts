import { UpgradeStrategy, type ClusterName, type DeclaredSpec, type UpgradeId } from '@fairlead/contracts';
import { UID } from '../../apps/bootstrap-svc/src/bootstrap/bootstrap.fixtures.js';
import {
  planFor,
  type ManifestCommand,
  type ManifestState,
} from '../../apps/gateway/src/manifest/manifests.decider.js';
import { ADDRESS, USER } from './growth.parts.js';

/** The gateway's command when a manifest is applied to an existing cluster. */
export const applyManifest = (state: ManifestState, spec: DeclaredSpec, requestId: string): ManifestCommand => ({
  type: 'ApplyManifest',
  data: {
    ...ADDRESS,
    cluster: ADDRESS.cluster as ClusterName,
    spec,
    plan: planFor(state, spec),
    seen: state,
    dryRun: false,
    uid: UID,
    requestId,
    requestHash: 'h',
    actor: USER,
    connectionFaults: [],
    upgrade: {
      upgradeId: 'u-000001' as UpgradeId,
      target: { kubernetes: spec.version, renewCertificates: false, reboot: false },
      pools: null,
      controlPlane: true,
      strategy: UpgradeStrategy.parse({}),
      overrides: [],
      requestHash: 'h',
    },
  },
});
