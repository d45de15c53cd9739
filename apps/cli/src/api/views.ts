import type { Schemas } from '@fairlead/api-client';
import type { Sent } from './api.js';

/** Request bodies: the server has defaults for omitted fields. */
export type ApplicationSettings = Sent<Schemas['ApplicationRequest']>;
export type ConnectionChange = Sent<Schemas['ConnectionChange']>;
export type NodeActionFields = Sent<Schemas['NodeActionRequest']>;
export type NodeSelection = NodeActionFields['select'];
export type QuotaChange = Sent<Schemas['QuotaChange']>;
export type RealmSettings = Sent<Schemas['RealmRequest']>;
export type ReleaseRequest = Sent<Schemas['ReleaseRequest']>;
export type UpgradeFields = Sent<Schemas['UpgradeRequest']>;

/** Response bodies. */
export type IssuedAutoscalerCredentialView = Schemas['SignedAutoscalerCredential'];
export type ClusterChanges = Schemas['ClusterChanges'];
export type WhoamiView = Schemas['Whoami'];
export type JoinTokenView = Schemas['JoinToken'];
export type AuditView = Schemas['Audit'];
export type ClusterView = Schemas['Cluster'];
export type FleetRow = Schemas['FleetRow'];
export type ConnectionView = Schemas['Connection'];
export type OrphanView = Schemas['Orphan'];
export type EventView = Schemas['Event'];
export type ManifestView = Schemas['ClusterManifestView'];
export type ManifestGenerationsView = Schemas['ManifestGenerationList'];
export type GenerationManifest = Schemas['ManifestOfGeneration'];
export type ScaleView = Schemas['Scale'];
export type TemplateView = Schemas['ClusterTemplate'];
export type RealmView = Schemas['Realm'];
export type ApplicationView = Schemas['Application'];
export type ReleaseView = Schemas['Release'];
export type ReleaseSignersView = Schemas['ReleaseSigners'];
export type NamespaceView = Schemas['Namespace'];
export type NodeView = Schemas['Node'];
export type NodeActionView = Schemas['NodeAction'];
export type NodeExecView = Schemas['NodeExec'];
export type OperationView = Schemas['Operation'];
export type StepView = Schemas['Step'];
export type NodeProgressView = Schemas['NodeProgress'];
export type TokenView = Schemas['Token'];
export type UpgradeView = Schemas['Upgrade'];
export type UpgradeSummary = Schemas['UpgradeSummary'];
export type EtcdSnapshotView = Schemas['EtcdSnapshot'];
export type EtcdRequestView = Schemas['EtcdRequest'];
export type CertificateView = Schemas['Certificate'];
export type VersionView = Schemas['Version'];

/** A manifest as a user wrote it; the server validates it. */
export interface Manifest {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

export interface TemplateAt {
  readonly namespace: string;
  readonly template: string;
}

/** The actions on an existing upgrade. */
export type Steering =
  | { readonly action: 'approve'; readonly planHash: string }
  | { readonly action: 'pause' | 'abort'; readonly reason: string }
  | { readonly action: 'resume' | 'retry' }
  | { readonly action: 'skip'; readonly node: string; readonly reason: string }
  | { readonly action: 'rollback'; readonly node: string }
  | { readonly action: 'override'; readonly rule: string; readonly reason: string };

export interface ClusterAt {
  readonly namespace: string;
  readonly cluster: string;
}
