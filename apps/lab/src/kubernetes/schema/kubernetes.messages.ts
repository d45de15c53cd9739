/**
 * The fields of the built-in types, extracted from kubernetes/api and kubernetes/apimachinery v0.34.9 (Kubernetes
 * v1.34.9, Apache-2.0) by `extractSchema` and `reachable` of proto.extract.ts, whose comment describes the notation. Do
 * not edit.
 */
export const KUBERNETES_MESSAGES = `
admissionregistration.v1.AuditAnnotation key=1:string valueExpression=2:string
admissionregistration.v1.ExpressionWarning fieldRef=2:string warning=3:string
admissionregistration.v1.MatchCondition name=1:string expression=2:string
admissionregistration.v1.MatchResources namespaceSelector=1:meta.v1.LabelSelector objectSelector=2:meta.v1.LabelSelector resourceRules=3:*admissionregistration.v1.NamedRuleWithOperations excludeResourceRules=4:*admissionregistration.v1.NamedRuleWithOperations matchPolicy=7:string
admissionregistration.v1.MutatingWebhook name=1:string clientConfig=2:admissionregistration.v1.WebhookClientConfig rules=3:*admissionregistration.v1.RuleWithOperations failurePolicy=4:string matchPolicy=9:string namespaceSelector=5:meta.v1.LabelSelector objectSelector=11:meta.v1.LabelSelector sideEffects=6:string timeoutSeconds=7:int32 admissionReviewVersions=8:*string reinvocationPolicy=10:string matchConditions=12:*admissionregistration.v1.MatchCondition
admissionregistration.v1.MutatingWebhookConfiguration metadata=1:meta.v1.ObjectMeta webhooks=2:*admissionregistration.v1.MutatingWebhook
admissionregistration.v1.NamedRuleWithOperations resourceNames=1:*string ^ruleWithOperations=2:admissionregistration.v1.RuleWithOperations
admissionregistration.v1.ParamKind ~apiVersion=1:string ~kind=2:string
admissionregistration.v1.ParamRef ~name=1:string ~namespace=2:string selector=3:meta.v1.LabelSelector parameterNotFoundAction=4:string
admissionregistration.v1.Rule apiGroups=1:*string apiVersions=2:*string resources=3:*string scope=4:string
admissionregistration.v1.RuleWithOperations operations=1:*string ^rule=2:admissionregistration.v1.Rule
admissionregistration.v1.ServiceReference namespace=1:string name=2:string path=3:string port=4:int32
admissionregistration.v1.TypeChecking expressionWarnings=1:*admissionregistration.v1.ExpressionWarning
admissionregistration.v1.ValidatingAdmissionPolicy metadata=1:meta.v1.ObjectMeta spec=2:admissionregistration.v1.ValidatingAdmissionPolicySpec status=3:admissionregistration.v1.ValidatingAdmissionPolicyStatus
admissionregistration.v1.ValidatingAdmissionPolicyBinding metadata=1:meta.v1.ObjectMeta spec=2:admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec
admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec ~policyName=1:string paramRef=2:admissionregistration.v1.ParamRef matchResources=3:admissionregistration.v1.MatchResources validationActions=4:*string
admissionregistration.v1.ValidatingAdmissionPolicySpec paramKind=1:admissionregistration.v1.ParamKind matchConstraints=2:admissionregistration.v1.MatchResources validations=3:*admissionregistration.v1.Validation failurePolicy=4:string auditAnnotations=5:*admissionregistration.v1.AuditAnnotation matchConditions=6:*admissionregistration.v1.MatchCondition variables=7:*admissionregistration.v1.Variable
admissionregistration.v1.ValidatingAdmissionPolicyStatus ~observedGeneration=1:int64 typeChecking=2:admissionregistration.v1.TypeChecking conditions=3:*meta.v1.Condition
admissionregistration.v1.ValidatingWebhook name=1:string clientConfig=2:admissionregistration.v1.WebhookClientConfig rules=3:*admissionregistration.v1.RuleWithOperations failurePolicy=4:string matchPolicy=9:string namespaceSelector=5:meta.v1.LabelSelector objectSelector=10:meta.v1.LabelSelector sideEffects=6:string timeoutSeconds=7:int32 admissionReviewVersions=8:*string matchConditions=11:*admissionregistration.v1.MatchCondition
admissionregistration.v1.ValidatingWebhookConfiguration metadata=1:meta.v1.ObjectMeta webhooks=2:*admissionregistration.v1.ValidatingWebhook
admissionregistration.v1.Validation expression=1:string ~message=2:string reason=3:string ~messageExpression=4:string
admissionregistration.v1.Variable name=1:string expression=2:string
admissionregistration.v1.WebhookClientConfig url=3:string service=1:admissionregistration.v1.ServiceReference caBundle=2:bytes
apps.v1.ControllerRevision metadata=1:meta.v1.ObjectMeta data=2:runtime.RawExtension revision=3:int64
apps.v1.DaemonSet metadata=1:meta.v1.ObjectMeta spec=2:apps.v1.DaemonSetSpec status=3:apps.v1.DaemonSetStatus
apps.v1.DaemonSetCondition type=1:string status=2:string lastTransitionTime=3:meta.v1.Time ~reason=4:string ~message=5:string
apps.v1.DaemonSetSpec selector=1:meta.v1.LabelSelector template=2:core.v1.PodTemplateSpec updateStrategy=3:apps.v1.DaemonSetUpdateStrategy ~minReadySeconds=4:int32 revisionHistoryLimit=6:int32
apps.v1.DaemonSetStatus currentNumberScheduled=1:int32 numberMisscheduled=2:int32 desiredNumberScheduled=3:int32 numberReady=4:int32 ~observedGeneration=5:int64 ~updatedNumberScheduled=6:int32 ~numberAvailable=7:int32 ~numberUnavailable=8:int32 collisionCount=9:int32 conditions=10:*apps.v1.DaemonSetCondition
apps.v1.DaemonSetUpdateStrategy ~type=1:string rollingUpdate=2:apps.v1.RollingUpdateDaemonSet
apps.v1.Deployment metadata=1:meta.v1.ObjectMeta spec=2:apps.v1.DeploymentSpec status=3:apps.v1.DeploymentStatus
apps.v1.DeploymentCondition type=1:string status=2:string lastUpdateTime=6:meta.v1.Time lastTransitionTime=7:meta.v1.Time ~reason=4:string ~message=5:string
apps.v1.DeploymentSpec replicas=1:int32 selector=2:meta.v1.LabelSelector template=3:core.v1.PodTemplateSpec strategy=4:apps.v1.DeploymentStrategy ~minReadySeconds=5:int32 revisionHistoryLimit=6:int32 ~paused=7:bool progressDeadlineSeconds=9:int32
apps.v1.DeploymentStatus ~observedGeneration=1:int64 ~replicas=2:int32 ~updatedReplicas=3:int32 ~readyReplicas=7:int32 ~availableReplicas=4:int32 ~unavailableReplicas=5:int32 terminatingReplicas=9:int32 conditions=6:*apps.v1.DeploymentCondition collisionCount=8:int32
apps.v1.DeploymentStrategy ~type=1:string rollingUpdate=2:apps.v1.RollingUpdateDeployment
apps.v1.ReplicaSet metadata=1:meta.v1.ObjectMeta spec=2:apps.v1.ReplicaSetSpec status=3:apps.v1.ReplicaSetStatus
apps.v1.ReplicaSetCondition type=1:string status=2:string lastTransitionTime=3:meta.v1.Time ~reason=4:string ~message=5:string
apps.v1.ReplicaSetSpec replicas=1:int32 ~minReadySeconds=4:int32 selector=2:meta.v1.LabelSelector template=3:core.v1.PodTemplateSpec
apps.v1.ReplicaSetStatus replicas=1:int32 ~fullyLabeledReplicas=2:int32 ~readyReplicas=4:int32 ~availableReplicas=5:int32 terminatingReplicas=7:int32 ~observedGeneration=3:int64 conditions=6:*apps.v1.ReplicaSetCondition
apps.v1.RollingUpdateDaemonSet maxUnavailable=1:util.intstr.IntOrString maxSurge=2:util.intstr.IntOrString
apps.v1.RollingUpdateDeployment maxUnavailable=1:util.intstr.IntOrString maxSurge=2:util.intstr.IntOrString
apps.v1.RollingUpdateStatefulSetStrategy partition=1:int32 maxUnavailable=2:util.intstr.IntOrString
apps.v1.StatefulSet metadata=1:meta.v1.ObjectMeta spec=2:apps.v1.StatefulSetSpec status=3:apps.v1.StatefulSetStatus
apps.v1.StatefulSetCondition type=1:string status=2:string lastTransitionTime=3:meta.v1.Time ~reason=4:string ~message=5:string
apps.v1.StatefulSetOrdinals start=1:int32
apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy ~whenDeleted=1:string ~whenScaled=2:string
apps.v1.StatefulSetSpec replicas=1:int32 selector=2:meta.v1.LabelSelector template=3:core.v1.PodTemplateSpec volumeClaimTemplates=4:*core.v1.PersistentVolumeClaim serviceName=5:string ~podManagementPolicy=6:string updateStrategy=7:apps.v1.StatefulSetUpdateStrategy revisionHistoryLimit=8:int32 ~minReadySeconds=9:int32 persistentVolumeClaimRetentionPolicy=10:apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy ordinals=11:apps.v1.StatefulSetOrdinals
apps.v1.StatefulSetStatus ~observedGeneration=1:int64 replicas=2:int32 ~readyReplicas=3:int32 ~currentReplicas=4:int32 ~updatedReplicas=5:int32 ~currentRevision=6:string ~updateRevision=7:string collisionCount=9:int32 conditions=10:*apps.v1.StatefulSetCondition availableReplicas=11:int32
apps.v1.StatefulSetUpdateStrategy ~type=1:string rollingUpdate=2:apps.v1.RollingUpdateStatefulSetStrategy
authentication.v1.ExtraValue items=1:*string
authentication.v1.SelfSubjectReview metadata=1:meta.v1.ObjectMeta status=2:authentication.v1.SelfSubjectReviewStatus
authentication.v1.SelfSubjectReviewStatus userInfo=1:authentication.v1.UserInfo
authentication.v1.UserInfo ~username=1:string ~uid=2:string groups=3:*string extra=4:%authentication.v1.ExtraValue
authorization.v1.ExtraValue items=1:*string
authorization.v1.FieldSelectorAttributes ~rawSelector=1:string requirements=2:*meta.v1.FieldSelectorRequirement
authorization.v1.LabelSelectorAttributes ~rawSelector=1:string requirements=2:*meta.v1.LabelSelectorRequirement
authorization.v1.LocalSubjectAccessReview metadata=1:meta.v1.ObjectMeta spec=2:authorization.v1.SubjectAccessReviewSpec status=3:authorization.v1.SubjectAccessReviewStatus
authorization.v1.NonResourceAttributes ~path=1:string ~verb=2:string
authorization.v1.NonResourceRule verbs=1:*string nonResourceURLs=2:*string
authorization.v1.ResourceAttributes ~namespace=1:string ~verb=2:string ~group=3:string ~version=4:string ~resource=5:string ~subresource=6:string ~name=7:string fieldSelector=8:authorization.v1.FieldSelectorAttributes labelSelector=9:authorization.v1.LabelSelectorAttributes
authorization.v1.ResourceRule verbs=1:*string apiGroups=2:*string resources=3:*string resourceNames=4:*string
authorization.v1.SelfSubjectAccessReview metadata=1:meta.v1.ObjectMeta spec=2:authorization.v1.SelfSubjectAccessReviewSpec status=3:authorization.v1.SubjectAccessReviewStatus
authorization.v1.SelfSubjectAccessReviewSpec resourceAttributes=1:authorization.v1.ResourceAttributes nonResourceAttributes=2:authorization.v1.NonResourceAttributes
authorization.v1.SelfSubjectRulesReview metadata=1:meta.v1.ObjectMeta spec=2:authorization.v1.SelfSubjectRulesReviewSpec status=3:authorization.v1.SubjectRulesReviewStatus
authorization.v1.SelfSubjectRulesReviewSpec ~namespace=1:string
authorization.v1.SubjectAccessReview metadata=1:meta.v1.ObjectMeta spec=2:authorization.v1.SubjectAccessReviewSpec status=3:authorization.v1.SubjectAccessReviewStatus
authorization.v1.SubjectAccessReviewSpec resourceAttributes=1:authorization.v1.ResourceAttributes nonResourceAttributes=2:authorization.v1.NonResourceAttributes ~user=3:string groups=4:*string extra=5:%authorization.v1.ExtraValue ~uid=6:string
authorization.v1.SubjectAccessReviewStatus allowed=1:bool ~denied=4:bool ~reason=2:string ~evaluationError=3:string
authorization.v1.SubjectRulesReviewStatus resourceRules=1:*authorization.v1.ResourceRule nonResourceRules=2:*authorization.v1.NonResourceRule incomplete=3:bool ~evaluationError=4:string
autoscaling.v1.Scale metadata=1:meta.v1.ObjectMeta spec=2:autoscaling.v1.ScaleSpec status=3:autoscaling.v1.ScaleStatus
autoscaling.v1.ScaleSpec ~replicas=1:int32
autoscaling.v1.ScaleStatus replicas=1:int32 ~selector=2:string
autoscaling.v2.ContainerResourceMetricSource name=1:string target=2:autoscaling.v2.MetricTarget container=3:string
autoscaling.v2.ContainerResourceMetricStatus name=1:string current=2:autoscaling.v2.MetricValueStatus container=3:string
autoscaling.v2.CrossVersionObjectReference kind=1:string name=2:string ~apiVersion=3:string
autoscaling.v2.ExternalMetricSource metric=1:autoscaling.v2.MetricIdentifier target=2:autoscaling.v2.MetricTarget
autoscaling.v2.ExternalMetricStatus metric=1:autoscaling.v2.MetricIdentifier current=2:autoscaling.v2.MetricValueStatus
autoscaling.v2.HPAScalingPolicy type=1:string value=2:int32 periodSeconds=3:int32
autoscaling.v2.HPAScalingRules stabilizationWindowSeconds=3:int32 selectPolicy=1:string policies=2:*autoscaling.v2.HPAScalingPolicy tolerance=4:api.resource.Quantity
autoscaling.v2.HorizontalPodAutoscaler metadata=1:meta.v1.ObjectMeta spec=2:autoscaling.v2.HorizontalPodAutoscalerSpec status=3:autoscaling.v2.HorizontalPodAutoscalerStatus
autoscaling.v2.HorizontalPodAutoscalerBehavior scaleUp=1:autoscaling.v2.HPAScalingRules scaleDown=2:autoscaling.v2.HPAScalingRules
autoscaling.v2.HorizontalPodAutoscalerCondition type=1:string status=2:string lastTransitionTime=3:meta.v1.Time ~reason=4:string ~message=5:string
autoscaling.v2.HorizontalPodAutoscalerSpec scaleTargetRef=1:autoscaling.v2.CrossVersionObjectReference minReplicas=2:int32 maxReplicas=3:int32 metrics=4:*autoscaling.v2.MetricSpec behavior=5:autoscaling.v2.HorizontalPodAutoscalerBehavior
autoscaling.v2.HorizontalPodAutoscalerStatus observedGeneration=1:int64 lastScaleTime=2:meta.v1.Time ~currentReplicas=3:int32 desiredReplicas=4:int32 currentMetrics=5:*autoscaling.v2.MetricStatus conditions=6:*autoscaling.v2.HorizontalPodAutoscalerCondition
autoscaling.v2.MetricIdentifier name=1:string selector=2:meta.v1.LabelSelector
autoscaling.v2.MetricSpec type=1:string object=2:autoscaling.v2.ObjectMetricSource pods=3:autoscaling.v2.PodsMetricSource resource=4:autoscaling.v2.ResourceMetricSource containerResource=7:autoscaling.v2.ContainerResourceMetricSource external=5:autoscaling.v2.ExternalMetricSource
autoscaling.v2.MetricStatus type=1:string object=2:autoscaling.v2.ObjectMetricStatus pods=3:autoscaling.v2.PodsMetricStatus resource=4:autoscaling.v2.ResourceMetricStatus containerResource=7:autoscaling.v2.ContainerResourceMetricStatus external=5:autoscaling.v2.ExternalMetricStatus
autoscaling.v2.MetricTarget type=1:string value=2:api.resource.Quantity averageValue=3:api.resource.Quantity averageUtilization=4:int32
autoscaling.v2.MetricValueStatus value=1:api.resource.Quantity averageValue=2:api.resource.Quantity averageUtilization=3:int32
autoscaling.v2.ObjectMetricSource describedObject=1:autoscaling.v2.CrossVersionObjectReference target=2:autoscaling.v2.MetricTarget metric=3:autoscaling.v2.MetricIdentifier
autoscaling.v2.ObjectMetricStatus metric=1:autoscaling.v2.MetricIdentifier current=2:autoscaling.v2.MetricValueStatus describedObject=3:autoscaling.v2.CrossVersionObjectReference
autoscaling.v2.PodsMetricSource metric=1:autoscaling.v2.MetricIdentifier target=2:autoscaling.v2.MetricTarget
autoscaling.v2.PodsMetricStatus metric=1:autoscaling.v2.MetricIdentifier current=2:autoscaling.v2.MetricValueStatus
autoscaling.v2.ResourceMetricSource name=1:string target=2:autoscaling.v2.MetricTarget
autoscaling.v2.ResourceMetricStatus name=1:string current=2:autoscaling.v2.MetricValueStatus
batch.v1.CronJob metadata=1:meta.v1.ObjectMeta spec=2:batch.v1.CronJobSpec status=3:batch.v1.CronJobStatus
batch.v1.CronJobSpec schedule=1:string timeZone=8:string startingDeadlineSeconds=2:int64 ~concurrencyPolicy=3:string suspend=4:bool jobTemplate=5:batch.v1.JobTemplateSpec successfulJobsHistoryLimit=6:int32 failedJobsHistoryLimit=7:int32
batch.v1.CronJobStatus active=1:*core.v1.ObjectReference lastScheduleTime=4:meta.v1.Time lastSuccessfulTime=5:meta.v1.Time
batch.v1.Job metadata=1:meta.v1.ObjectMeta spec=2:batch.v1.JobSpec status=3:batch.v1.JobStatus
batch.v1.JobCondition type=1:string status=2:string lastProbeTime=3:meta.v1.Time lastTransitionTime=4:meta.v1.Time ~reason=5:string ~message=6:string
batch.v1.JobSpec parallelism=1:int32 completions=2:int32 activeDeadlineSeconds=3:int64 podFailurePolicy=11:batch.v1.PodFailurePolicy successPolicy=16:batch.v1.SuccessPolicy backoffLimit=7:int32 backoffLimitPerIndex=12:int32 maxFailedIndexes=13:int32 selector=4:meta.v1.LabelSelector manualSelector=5:bool template=6:core.v1.PodTemplateSpec ttlSecondsAfterFinished=8:int32 completionMode=9:string suspend=10:bool podReplacementPolicy=14:string managedBy=15:string
batch.v1.JobStatus conditions=1:*batch.v1.JobCondition startTime=2:meta.v1.Time completionTime=3:meta.v1.Time ~active=4:int32 ~succeeded=5:int32 ~failed=6:int32 terminating=11:int32 ~completedIndexes=7:string failedIndexes=10:string uncountedTerminatedPods=8:batch.v1.UncountedTerminatedPods ready=9:int32
batch.v1.JobTemplateSpec metadata=1:meta.v1.ObjectMeta spec=2:batch.v1.JobSpec
batch.v1.PodFailurePolicy rules=1:*batch.v1.PodFailurePolicyRule
batch.v1.PodFailurePolicyOnExitCodesRequirement containerName=1:string operator=2:string values=3:*int32
batch.v1.PodFailurePolicyOnPodConditionsPattern type=1:string status=2:string
batch.v1.PodFailurePolicyRule action=1:string onExitCodes=2:batch.v1.PodFailurePolicyOnExitCodesRequirement onPodConditions=3:*batch.v1.PodFailurePolicyOnPodConditionsPattern
batch.v1.SuccessPolicy rules=1:*batch.v1.SuccessPolicyRule
batch.v1.SuccessPolicyRule succeededIndexes=1:string succeededCount=2:int32
batch.v1.UncountedTerminatedPods succeeded=1:*string failed=2:*string
certificates.v1.CertificateSigningRequest metadata=1:meta.v1.ObjectMeta spec=2:certificates.v1.CertificateSigningRequestSpec status=3:certificates.v1.CertificateSigningRequestStatus
certificates.v1.CertificateSigningRequestCondition type=1:string status=6:string ~reason=2:string ~message=3:string lastUpdateTime=4:meta.v1.Time lastTransitionTime=5:meta.v1.Time
certificates.v1.CertificateSigningRequestSpec request=1:bytes signerName=7:string expirationSeconds=8:int32 usages=5:*string ~username=2:string ~uid=3:string groups=4:*string extra=6:%certificates.v1.ExtraValue
certificates.v1.CertificateSigningRequestStatus conditions=1:*certificates.v1.CertificateSigningRequestCondition certificate=2:bytes
certificates.v1.ExtraValue items=1:*string
coordination.v1.Lease metadata=1:meta.v1.ObjectMeta spec=2:coordination.v1.LeaseSpec
coordination.v1.LeaseSpec holderIdentity=1:string leaseDurationSeconds=2:int32 acquireTime=3:meta.v1.MicroTime renewTime=4:meta.v1.MicroTime leaseTransitions=5:int32 strategy=6:string preferredHolder=7:string
core.v1.AWSElasticBlockStoreVolumeSource volumeID=1:string ~fsType=2:string ~partition=3:int32 ~readOnly=4:bool
core.v1.Affinity nodeAffinity=1:core.v1.NodeAffinity podAffinity=2:core.v1.PodAffinity podAntiAffinity=3:core.v1.PodAntiAffinity
core.v1.AppArmorProfile type=1:string localhostProfile=2:string
core.v1.AttachedVolume name=1:string devicePath=2:string
core.v1.AzureDiskVolumeSource diskName=1:string diskURI=2:string cachingMode=3:string fsType=4:string readOnly=5:bool kind=6:string
core.v1.AzureFilePersistentVolumeSource secretName=1:string shareName=2:string ~readOnly=3:bool secretNamespace=4:string
core.v1.AzureFileVolumeSource secretName=1:string shareName=2:string ~readOnly=3:bool
core.v1.Binding metadata=1:meta.v1.ObjectMeta target=2:core.v1.ObjectReference
core.v1.CSIPersistentVolumeSource driver=1:string volumeHandle=2:string ~readOnly=3:bool ~fsType=4:string volumeAttributes=5:%string controllerPublishSecretRef=6:core.v1.SecretReference nodeStageSecretRef=7:core.v1.SecretReference nodePublishSecretRef=8:core.v1.SecretReference controllerExpandSecretRef=9:core.v1.SecretReference nodeExpandSecretRef=10:core.v1.SecretReference
core.v1.CSIVolumeSource driver=1:string readOnly=2:bool fsType=3:string volumeAttributes=4:%string nodePublishSecretRef=5:core.v1.LocalObjectReference
core.v1.Capabilities add=1:*string drop=2:*string
core.v1.CephFSPersistentVolumeSource monitors=1:*string ~path=2:string ~user=3:string ~secretFile=4:string secretRef=5:core.v1.SecretReference ~readOnly=6:bool
core.v1.CephFSVolumeSource monitors=1:*string ~path=2:string ~user=3:string ~secretFile=4:string secretRef=5:core.v1.LocalObjectReference ~readOnly=6:bool
core.v1.CinderPersistentVolumeSource volumeID=1:string ~fsType=2:string ~readOnly=3:bool secretRef=4:core.v1.SecretReference
core.v1.CinderVolumeSource volumeID=1:string ~fsType=2:string ~readOnly=3:bool secretRef=4:core.v1.LocalObjectReference
core.v1.ClientIPConfig timeoutSeconds=1:int32
core.v1.ClusterTrustBundleProjection name=1:string signerName=2:string labelSelector=3:meta.v1.LabelSelector optional=5:bool path=4:string
core.v1.ConfigMap metadata=1:meta.v1.ObjectMeta immutable=4:bool data=2:%string binaryData=3:%bytes
core.v1.ConfigMapEnvSource ^localObjectReference=1:core.v1.LocalObjectReference optional=2:bool
core.v1.ConfigMapKeySelector ^localObjectReference=1:core.v1.LocalObjectReference key=2:string optional=3:bool
core.v1.ConfigMapNodeConfigSource namespace=1:string name=2:string ~uid=3:string ~resourceVersion=4:string kubeletConfigKey=5:string
core.v1.ConfigMapProjection ^localObjectReference=1:core.v1.LocalObjectReference items=2:*core.v1.KeyToPath optional=4:bool
core.v1.ConfigMapVolumeSource ^localObjectReference=1:core.v1.LocalObjectReference items=2:*core.v1.KeyToPath defaultMode=3:int32 optional=4:bool
core.v1.Container name=1:string ~image=2:string command=3:*string args=4:*string ~workingDir=5:string ports=6:*core.v1.ContainerPort envFrom=19:*core.v1.EnvFromSource env=7:*core.v1.EnvVar resources=8:core.v1.ResourceRequirements resizePolicy=23:*core.v1.ContainerResizePolicy restartPolicy=24:string restartPolicyRules=25:*core.v1.ContainerRestartRule volumeMounts=9:*core.v1.VolumeMount volumeDevices=21:*core.v1.VolumeDevice livenessProbe=10:core.v1.Probe readinessProbe=11:core.v1.Probe startupProbe=22:core.v1.Probe lifecycle=12:core.v1.Lifecycle ~terminationMessagePath=13:string ~terminationMessagePolicy=20:string ~imagePullPolicy=14:string securityContext=15:core.v1.SecurityContext ~stdin=16:bool ~stdinOnce=17:bool ~tty=18:bool
core.v1.ContainerExtendedResourceRequest containerName=1:string resourceName=2:string requestName=3:string
core.v1.ContainerImage names=1:*string ~sizeBytes=2:int64
core.v1.ContainerPort ~name=1:string ~hostPort=2:int32 containerPort=3:int32 ~protocol=4:string ~hostIP=5:string
core.v1.ContainerResizePolicy resourceName=1:string restartPolicy=2:string
core.v1.ContainerRestartRule ~action=1:string exitCodes=2:core.v1.ContainerRestartRuleOnExitCodes
core.v1.ContainerRestartRuleOnExitCodes ~operator=1:string values=2:*int32
core.v1.ContainerState waiting=1:core.v1.ContainerStateWaiting running=2:core.v1.ContainerStateRunning terminated=3:core.v1.ContainerStateTerminated
core.v1.ContainerStateRunning startedAt=1:meta.v1.Time
core.v1.ContainerStateTerminated exitCode=1:int32 ~signal=2:int32 ~reason=3:string ~message=4:string startedAt=5:meta.v1.Time finishedAt=6:meta.v1.Time ~containerID=7:string
core.v1.ContainerStateWaiting ~reason=1:string ~message=2:string
core.v1.ContainerStatus name=1:string state=2:core.v1.ContainerState lastState=3:core.v1.ContainerState ready=4:bool restartCount=5:int32 image=6:string imageID=7:string ~containerID=8:string started=9:bool allocatedResources=10:%api.resource.Quantity resources=11:core.v1.ResourceRequirements volumeMounts=12:*core.v1.VolumeMountStatus user=13:core.v1.ContainerUser allocatedResourcesStatus=14:*core.v1.ResourceStatus stopSignal=15:string
core.v1.ContainerUser linux=1:core.v1.LinuxContainerUser
core.v1.DaemonEndpoint Port=1:int32
core.v1.DownwardAPIProjection items=1:*core.v1.DownwardAPIVolumeFile
core.v1.DownwardAPIVolumeFile path=1:string fieldRef=2:core.v1.ObjectFieldSelector resourceFieldRef=3:core.v1.ResourceFieldSelector mode=4:int32
core.v1.DownwardAPIVolumeSource items=1:*core.v1.DownwardAPIVolumeFile defaultMode=2:int32
core.v1.EmptyDirVolumeSource ~medium=1:string sizeLimit=2:api.resource.Quantity
core.v1.EndpointAddress ip=1:string ~hostname=3:string nodeName=4:string targetRef=2:core.v1.ObjectReference
core.v1.EndpointPort ~name=1:string port=2:int32 ~protocol=3:string appProtocol=4:string
core.v1.EndpointSubset addresses=1:*core.v1.EndpointAddress notReadyAddresses=2:*core.v1.EndpointAddress ports=3:*core.v1.EndpointPort
core.v1.Endpoints metadata=1:meta.v1.ObjectMeta subsets=2:*core.v1.EndpointSubset
core.v1.EnvFromSource ~prefix=1:string configMapRef=2:core.v1.ConfigMapEnvSource secretRef=3:core.v1.SecretEnvSource
core.v1.EnvVar name=1:string ~value=2:string valueFrom=3:core.v1.EnvVarSource
core.v1.EnvVarSource fieldRef=1:core.v1.ObjectFieldSelector resourceFieldRef=2:core.v1.ResourceFieldSelector configMapKeyRef=3:core.v1.ConfigMapKeySelector secretKeyRef=4:core.v1.SecretKeySelector fileKeyRef=5:core.v1.FileKeySelector
core.v1.EphemeralContainer ^ephemeralContainerCommon=1:core.v1.EphemeralContainerCommon ~targetContainerName=2:string
core.v1.EphemeralContainerCommon name=1:string ~image=2:string command=3:*string args=4:*string ~workingDir=5:string ports=6:*core.v1.ContainerPort envFrom=19:*core.v1.EnvFromSource env=7:*core.v1.EnvVar resources=8:core.v1.ResourceRequirements resizePolicy=23:*core.v1.ContainerResizePolicy restartPolicy=24:string restartPolicyRules=25:*core.v1.ContainerRestartRule volumeMounts=9:*core.v1.VolumeMount volumeDevices=21:*core.v1.VolumeDevice livenessProbe=10:core.v1.Probe readinessProbe=11:core.v1.Probe startupProbe=22:core.v1.Probe lifecycle=12:core.v1.Lifecycle ~terminationMessagePath=13:string ~terminationMessagePolicy=20:string ~imagePullPolicy=14:string securityContext=15:core.v1.SecurityContext ~stdin=16:bool ~stdinOnce=17:bool ~tty=18:bool
core.v1.EphemeralVolumeSource volumeClaimTemplate=1:core.v1.PersistentVolumeClaimTemplate
core.v1.Event metadata=1:meta.v1.ObjectMeta involvedObject=2:core.v1.ObjectReference ~reason=3:string ~message=4:string source=5:core.v1.EventSource firstTimestamp=6:meta.v1.Time lastTimestamp=7:meta.v1.Time ~count=8:int32 ~type=9:string eventTime=10:meta.v1.MicroTime series=11:core.v1.EventSeries ~action=12:string related=13:core.v1.ObjectReference reportingComponent=14:string reportingInstance=15:string
core.v1.EventSeries ~count=1:int32 lastObservedTime=2:meta.v1.MicroTime
core.v1.EventSource ~component=1:string ~host=2:string
core.v1.ExecAction command=1:*string
core.v1.FCVolumeSource targetWWNs=1:*string lun=2:int32 ~fsType=3:string ~readOnly=4:bool wwids=5:*string
core.v1.FileKeySelector volumeName=1:string path=2:string key=3:string optional=4:bool
core.v1.FlexPersistentVolumeSource driver=1:string ~fsType=2:string secretRef=3:core.v1.SecretReference ~readOnly=4:bool options=5:%string
core.v1.FlexVolumeSource driver=1:string ~fsType=2:string secretRef=3:core.v1.LocalObjectReference ~readOnly=4:bool options=5:%string
core.v1.FlockerVolumeSource ~datasetName=1:string ~datasetUUID=2:string
core.v1.GCEPersistentDiskVolumeSource pdName=1:string ~fsType=2:string ~partition=3:int32 ~readOnly=4:bool
core.v1.GRPCAction port=1:int32 service=2:string
core.v1.GitRepoVolumeSource repository=1:string ~revision=2:string ~directory=3:string
core.v1.GlusterfsPersistentVolumeSource endpoints=1:string path=2:string ~readOnly=3:bool endpointsNamespace=4:string
core.v1.GlusterfsVolumeSource endpoints=1:string path=2:string ~readOnly=3:bool
core.v1.HTTPGetAction ~path=1:string port=2:util.intstr.IntOrString ~host=3:string ~scheme=4:string httpHeaders=5:*core.v1.HTTPHeader
core.v1.HTTPHeader name=1:string value=2:string
core.v1.HostAlias ip=1:string hostnames=2:*string
core.v1.HostIP ip=1:string
core.v1.HostPathVolumeSource path=1:string type=2:string
core.v1.ISCSIPersistentVolumeSource targetPortal=1:string iqn=2:string lun=3:int32 ~iscsiInterface=4:string ~fsType=5:string ~readOnly=6:bool portals=7:*string ~chapAuthDiscovery=8:bool ~chapAuthSession=11:bool secretRef=10:core.v1.SecretReference initiatorName=12:string
core.v1.ISCSIVolumeSource targetPortal=1:string iqn=2:string lun=3:int32 ~iscsiInterface=4:string ~fsType=5:string ~readOnly=6:bool portals=7:*string ~chapAuthDiscovery=8:bool ~chapAuthSession=11:bool secretRef=10:core.v1.LocalObjectReference initiatorName=12:string
core.v1.ImageVolumeSource ~reference=1:string ~pullPolicy=2:string
core.v1.KeyToPath key=1:string path=2:string mode=3:int32
core.v1.Lifecycle postStart=1:core.v1.LifecycleHandler preStop=2:core.v1.LifecycleHandler stopSignal=3:string
core.v1.LifecycleHandler exec=1:core.v1.ExecAction httpGet=2:core.v1.HTTPGetAction tcpSocket=3:core.v1.TCPSocketAction sleep=4:core.v1.SleepAction
core.v1.LimitRange metadata=1:meta.v1.ObjectMeta spec=2:core.v1.LimitRangeSpec
core.v1.LimitRangeItem type=1:string max=2:%api.resource.Quantity min=3:%api.resource.Quantity default=4:%api.resource.Quantity defaultRequest=5:%api.resource.Quantity maxLimitRequestRatio=6:%api.resource.Quantity
core.v1.LimitRangeSpec limits=1:*core.v1.LimitRangeItem
core.v1.LinuxContainerUser uid=1:int64 gid=2:int64 supplementalGroups=3:*int64
core.v1.LoadBalancerIngress ~ip=1:string ~hostname=2:string ipMode=3:string ports=4:*core.v1.PortStatus
core.v1.LoadBalancerStatus ingress=1:*core.v1.LoadBalancerIngress
core.v1.LocalObjectReference ~name=1:string
core.v1.LocalVolumeSource path=1:string fsType=2:string
core.v1.ModifyVolumeStatus ~targetVolumeAttributesClassName=1:string status=2:string
core.v1.NFSVolumeSource server=1:string path=2:string ~readOnly=3:bool
core.v1.Namespace metadata=1:meta.v1.ObjectMeta spec=2:core.v1.NamespaceSpec status=3:core.v1.NamespaceStatus
core.v1.NamespaceCondition type=1:string status=2:string lastTransitionTime=4:meta.v1.Time ~reason=5:string ~message=6:string
core.v1.NamespaceSpec finalizers=1:*string
core.v1.NamespaceStatus ~phase=1:string conditions=2:*core.v1.NamespaceCondition
core.v1.Node metadata=1:meta.v1.ObjectMeta spec=2:core.v1.NodeSpec status=3:core.v1.NodeStatus
core.v1.NodeAddress type=1:string address=2:string
core.v1.NodeAffinity requiredDuringSchedulingIgnoredDuringExecution=1:core.v1.NodeSelector preferredDuringSchedulingIgnoredDuringExecution=2:*core.v1.PreferredSchedulingTerm
core.v1.NodeCondition type=1:string status=2:string lastHeartbeatTime=3:meta.v1.Time lastTransitionTime=4:meta.v1.Time ~reason=5:string ~message=6:string
core.v1.NodeConfigSource configMap=2:core.v1.ConfigMapNodeConfigSource
core.v1.NodeConfigStatus assigned=1:core.v1.NodeConfigSource active=2:core.v1.NodeConfigSource lastKnownGood=3:core.v1.NodeConfigSource ~error=4:string
core.v1.NodeDaemonEndpoints kubeletEndpoint=1:core.v1.DaemonEndpoint
core.v1.NodeFeatures supplementalGroupsPolicy=1:bool
core.v1.NodeRuntimeHandler name=1:string features=2:core.v1.NodeRuntimeHandlerFeatures
core.v1.NodeRuntimeHandlerFeatures recursiveReadOnlyMounts=1:bool userNamespaces=2:bool
core.v1.NodeSelector nodeSelectorTerms=1:*core.v1.NodeSelectorTerm
core.v1.NodeSelectorRequirement key=1:string operator=2:string values=3:*string
core.v1.NodeSelectorTerm matchExpressions=1:*core.v1.NodeSelectorRequirement matchFields=2:*core.v1.NodeSelectorRequirement
core.v1.NodeSpec ~podCIDR=1:string podCIDRs=7:*string ~providerID=3:string ~unschedulable=4:bool taints=5:*core.v1.Taint configSource=6:core.v1.NodeConfigSource ~externalID=2:string
core.v1.NodeStatus capacity=1:%api.resource.Quantity allocatable=2:%api.resource.Quantity ~phase=3:string conditions=4:*core.v1.NodeCondition addresses=5:*core.v1.NodeAddress daemonEndpoints=6:core.v1.NodeDaemonEndpoints nodeInfo=7:core.v1.NodeSystemInfo images=8:*core.v1.ContainerImage volumesInUse=9:*string volumesAttached=10:*core.v1.AttachedVolume config=11:core.v1.NodeConfigStatus runtimeHandlers=12:*core.v1.NodeRuntimeHandler features=13:core.v1.NodeFeatures
core.v1.NodeSwapStatus capacity=1:int64
core.v1.NodeSystemInfo machineID=1:string systemUUID=2:string bootID=3:string kernelVersion=4:string osImage=5:string containerRuntimeVersion=6:string kubeletVersion=7:string kubeProxyVersion=8:string operatingSystem=9:string architecture=10:string swap=11:core.v1.NodeSwapStatus
core.v1.ObjectFieldSelector ~apiVersion=1:string fieldPath=2:string
core.v1.ObjectReference ~kind=1:string ~namespace=2:string ~name=3:string ~uid=4:string ~apiVersion=5:string ~resourceVersion=6:string ~fieldPath=7:string
core.v1.PersistentVolume metadata=1:meta.v1.ObjectMeta spec=2:core.v1.PersistentVolumeSpec status=3:core.v1.PersistentVolumeStatus
core.v1.PersistentVolumeClaim metadata=1:meta.v1.ObjectMeta spec=2:core.v1.PersistentVolumeClaimSpec status=3:core.v1.PersistentVolumeClaimStatus
core.v1.PersistentVolumeClaimCondition type=1:string status=2:string lastProbeTime=3:meta.v1.Time lastTransitionTime=4:meta.v1.Time ~reason=5:string ~message=6:string
core.v1.PersistentVolumeClaimSpec accessModes=1:*string selector=4:meta.v1.LabelSelector resources=2:core.v1.VolumeResourceRequirements ~volumeName=3:string storageClassName=5:string volumeMode=6:string dataSource=7:core.v1.TypedLocalObjectReference dataSourceRef=8:core.v1.TypedObjectReference volumeAttributesClassName=9:string
core.v1.PersistentVolumeClaimStatus ~phase=1:string accessModes=2:*string capacity=3:%api.resource.Quantity conditions=4:*core.v1.PersistentVolumeClaimCondition allocatedResources=5:%api.resource.Quantity allocatedResourceStatuses=7:%string currentVolumeAttributesClassName=8:string modifyVolumeStatus=9:core.v1.ModifyVolumeStatus
core.v1.PersistentVolumeClaimTemplate metadata=1:meta.v1.ObjectMeta spec=2:core.v1.PersistentVolumeClaimSpec
core.v1.PersistentVolumeClaimVolumeSource claimName=1:string ~readOnly=2:bool
core.v1.PersistentVolumeSource gcePersistentDisk=1:core.v1.GCEPersistentDiskVolumeSource awsElasticBlockStore=2:core.v1.AWSElasticBlockStoreVolumeSource hostPath=3:core.v1.HostPathVolumeSource glusterfs=4:core.v1.GlusterfsPersistentVolumeSource nfs=5:core.v1.NFSVolumeSource rbd=6:core.v1.RBDPersistentVolumeSource iscsi=7:core.v1.ISCSIPersistentVolumeSource cinder=8:core.v1.CinderPersistentVolumeSource cephfs=9:core.v1.CephFSPersistentVolumeSource fc=10:core.v1.FCVolumeSource flocker=11:core.v1.FlockerVolumeSource flexVolume=12:core.v1.FlexPersistentVolumeSource azureFile=13:core.v1.AzureFilePersistentVolumeSource vsphereVolume=14:core.v1.VsphereVirtualDiskVolumeSource quobyte=15:core.v1.QuobyteVolumeSource azureDisk=16:core.v1.AzureDiskVolumeSource photonPersistentDisk=17:core.v1.PhotonPersistentDiskVolumeSource portworxVolume=18:core.v1.PortworxVolumeSource scaleIO=19:core.v1.ScaleIOPersistentVolumeSource local=20:core.v1.LocalVolumeSource storageos=21:core.v1.StorageOSPersistentVolumeSource csi=22:core.v1.CSIPersistentVolumeSource
core.v1.PersistentVolumeSpec capacity=1:%api.resource.Quantity ^persistentVolumeSource=2:core.v1.PersistentVolumeSource accessModes=3:*string claimRef=4:core.v1.ObjectReference ~persistentVolumeReclaimPolicy=5:string ~storageClassName=6:string mountOptions=7:*string volumeMode=8:string nodeAffinity=9:core.v1.VolumeNodeAffinity volumeAttributesClassName=10:string
core.v1.PersistentVolumeStatus ~phase=1:string ~message=2:string ~reason=3:string lastPhaseTransitionTime=4:meta.v1.Time
core.v1.PhotonPersistentDiskVolumeSource pdID=1:string ~fsType=2:string
core.v1.Pod metadata=1:meta.v1.ObjectMeta spec=2:core.v1.PodSpec status=3:core.v1.PodStatus
core.v1.PodAffinity requiredDuringSchedulingIgnoredDuringExecution=1:*core.v1.PodAffinityTerm preferredDuringSchedulingIgnoredDuringExecution=2:*core.v1.WeightedPodAffinityTerm
core.v1.PodAffinityTerm labelSelector=1:meta.v1.LabelSelector namespaces=2:*string topologyKey=3:string namespaceSelector=4:meta.v1.LabelSelector matchLabelKeys=5:*string mismatchLabelKeys=6:*string
core.v1.PodAntiAffinity requiredDuringSchedulingIgnoredDuringExecution=1:*core.v1.PodAffinityTerm preferredDuringSchedulingIgnoredDuringExecution=2:*core.v1.WeightedPodAffinityTerm
core.v1.PodCertificateProjection ~signerName=1:string ~keyType=2:string maxExpirationSeconds=3:int32 ~credentialBundlePath=4:string ~keyPath=5:string ~certificateChainPath=6:string
core.v1.PodCondition type=1:string ~observedGeneration=7:int64 status=2:string lastProbeTime=3:meta.v1.Time lastTransitionTime=4:meta.v1.Time ~reason=5:string ~message=6:string
core.v1.PodDNSConfig nameservers=1:*string searches=2:*string options=3:*core.v1.PodDNSConfigOption
core.v1.PodDNSConfigOption ~name=1:string value=2:string
core.v1.PodExtendedResourceClaimStatus requestMappings=1:*core.v1.ContainerExtendedResourceRequest resourceClaimName=2:string
core.v1.PodIP ip=1:string
core.v1.PodOS name=1:string
core.v1.PodReadinessGate conditionType=1:string
core.v1.PodResourceClaim name=1:string resourceClaimName=3:string resourceClaimTemplateName=4:string
core.v1.PodResourceClaimStatus name=1:string resourceClaimName=2:string
core.v1.PodSchedulingGate name=1:string
core.v1.PodSecurityContext seLinuxOptions=1:core.v1.SELinuxOptions windowsOptions=8:core.v1.WindowsSecurityContextOptions runAsUser=2:int64 runAsGroup=6:int64 runAsNonRoot=3:bool supplementalGroups=4:*int64 supplementalGroupsPolicy=12:string fsGroup=5:int64 sysctls=7:*core.v1.Sysctl fsGroupChangePolicy=9:string seccompProfile=10:core.v1.SeccompProfile appArmorProfile=11:core.v1.AppArmorProfile seLinuxChangePolicy=13:string
core.v1.PodSpec volumes=1:*core.v1.Volume initContainers=20:*core.v1.Container containers=2:*core.v1.Container ephemeralContainers=34:*core.v1.EphemeralContainer ~restartPolicy=3:string terminationGracePeriodSeconds=4:int64 activeDeadlineSeconds=5:int64 ~dnsPolicy=6:string nodeSelector=7:%string ~serviceAccountName=8:string ~serviceAccount=9:string automountServiceAccountToken=21:bool ~nodeName=10:string ~hostNetwork=11:bool ~hostPID=12:bool ~hostIPC=13:bool shareProcessNamespace=27:bool securityContext=14:core.v1.PodSecurityContext imagePullSecrets=15:*core.v1.LocalObjectReference ~hostname=16:string ~subdomain=17:string affinity=18:core.v1.Affinity ~schedulerName=19:string tolerations=22:*core.v1.Toleration hostAliases=23:*core.v1.HostAlias ~priorityClassName=24:string priority=25:int32 dnsConfig=26:core.v1.PodDNSConfig readinessGates=28:*core.v1.PodReadinessGate runtimeClassName=29:string enableServiceLinks=30:bool preemptionPolicy=31:string overhead=32:%api.resource.Quantity topologySpreadConstraints=33:*core.v1.TopologySpreadConstraint setHostnameAsFQDN=35:bool os=36:core.v1.PodOS hostUsers=37:bool schedulingGates=38:*core.v1.PodSchedulingGate resourceClaims=39:*core.v1.PodResourceClaim resources=40:core.v1.ResourceRequirements hostnameOverride=41:string
core.v1.PodStatus ~observedGeneration=17:int64 ~phase=1:string conditions=2:*core.v1.PodCondition ~message=3:string ~reason=4:string ~nominatedNodeName=11:string ~hostIP=5:string hostIPs=16:*core.v1.HostIP ~podIP=6:string podIPs=12:*core.v1.PodIP startTime=7:meta.v1.Time initContainerStatuses=10:*core.v1.ContainerStatus containerStatuses=8:*core.v1.ContainerStatus ~qosClass=9:string ephemeralContainerStatuses=13:*core.v1.ContainerStatus ~resize=14:string resourceClaimStatuses=15:*core.v1.PodResourceClaimStatus extendedResourceClaimStatus=18:core.v1.PodExtendedResourceClaimStatus
core.v1.PodTemplate metadata=1:meta.v1.ObjectMeta template=2:core.v1.PodTemplateSpec
core.v1.PodTemplateSpec metadata=1:meta.v1.ObjectMeta spec=2:core.v1.PodSpec
core.v1.PortStatus port=1:int32 protocol=2:string error=3:string
core.v1.PortworxVolumeSource volumeID=1:string ~fsType=2:string ~readOnly=3:bool
core.v1.PreferredSchedulingTerm weight=1:int32 preference=2:core.v1.NodeSelectorTerm
core.v1.Probe ^handler=1:core.v1.ProbeHandler ~initialDelaySeconds=2:int32 ~timeoutSeconds=3:int32 ~periodSeconds=4:int32 ~successThreshold=5:int32 ~failureThreshold=6:int32 terminationGracePeriodSeconds=7:int64
core.v1.ProbeHandler exec=1:core.v1.ExecAction httpGet=2:core.v1.HTTPGetAction tcpSocket=3:core.v1.TCPSocketAction grpc=4:core.v1.GRPCAction
core.v1.ProjectedVolumeSource sources=1:*core.v1.VolumeProjection defaultMode=2:int32
core.v1.QuobyteVolumeSource registry=1:string volume=2:string ~readOnly=3:bool ~user=4:string ~group=5:string ~tenant=6:string
core.v1.RBDPersistentVolumeSource monitors=1:*string image=2:string ~fsType=3:string ~pool=4:string ~user=5:string ~keyring=6:string secretRef=7:core.v1.SecretReference ~readOnly=8:bool
core.v1.RBDVolumeSource monitors=1:*string image=2:string ~fsType=3:string ~pool=4:string ~user=5:string ~keyring=6:string secretRef=7:core.v1.LocalObjectReference ~readOnly=8:bool
core.v1.ReplicationController metadata=1:meta.v1.ObjectMeta spec=2:core.v1.ReplicationControllerSpec status=3:core.v1.ReplicationControllerStatus
core.v1.ReplicationControllerCondition type=1:string status=2:string lastTransitionTime=3:meta.v1.Time ~reason=4:string ~message=5:string
core.v1.ReplicationControllerSpec replicas=1:int32 ~minReadySeconds=4:int32 selector=2:%string template=3:core.v1.PodTemplateSpec
core.v1.ReplicationControllerStatus replicas=1:int32 ~fullyLabeledReplicas=2:int32 ~readyReplicas=4:int32 ~availableReplicas=5:int32 ~observedGeneration=3:int64 conditions=6:*core.v1.ReplicationControllerCondition
core.v1.ResourceClaim name=1:string ~request=2:string
core.v1.ResourceFieldSelector ~containerName=1:string resource=2:string divisor=3:api.resource.Quantity
core.v1.ResourceHealth resourceID=1:string ~health=2:string
core.v1.ResourceQuota metadata=1:meta.v1.ObjectMeta spec=2:core.v1.ResourceQuotaSpec status=3:core.v1.ResourceQuotaStatus
core.v1.ResourceQuotaSpec hard=1:%api.resource.Quantity scopes=2:*string scopeSelector=3:core.v1.ScopeSelector
core.v1.ResourceQuotaStatus hard=1:%api.resource.Quantity used=2:%api.resource.Quantity
core.v1.ResourceRequirements limits=1:%api.resource.Quantity requests=2:%api.resource.Quantity claims=3:*core.v1.ResourceClaim
core.v1.ResourceStatus name=1:string resources=2:*core.v1.ResourceHealth
core.v1.SELinuxOptions ~user=1:string ~role=2:string ~type=3:string ~level=4:string
core.v1.ScaleIOPersistentVolumeSource gateway=1:string system=2:string secretRef=3:core.v1.SecretReference ~sslEnabled=4:bool ~protectionDomain=5:string ~storagePool=6:string ~storageMode=7:string ~volumeName=8:string ~fsType=9:string ~readOnly=10:bool
core.v1.ScaleIOVolumeSource gateway=1:string system=2:string secretRef=3:core.v1.LocalObjectReference ~sslEnabled=4:bool ~protectionDomain=5:string ~storagePool=6:string ~storageMode=7:string ~volumeName=8:string ~fsType=9:string ~readOnly=10:bool
core.v1.ScopeSelector matchExpressions=1:*core.v1.ScopedResourceSelectorRequirement
core.v1.ScopedResourceSelectorRequirement scopeName=1:string operator=2:string values=3:*string
core.v1.SeccompProfile type=1:string localhostProfile=2:string
core.v1.Secret metadata=1:meta.v1.ObjectMeta immutable=5:bool data=2:%bytes stringData=4:%string ~type=3:string
core.v1.SecretEnvSource ^localObjectReference=1:core.v1.LocalObjectReference optional=2:bool
core.v1.SecretKeySelector ^localObjectReference=1:core.v1.LocalObjectReference key=2:string optional=3:bool
core.v1.SecretProjection ^localObjectReference=1:core.v1.LocalObjectReference items=2:*core.v1.KeyToPath optional=4:bool
core.v1.SecretReference ~name=1:string ~namespace=2:string
core.v1.SecretVolumeSource ~secretName=1:string items=2:*core.v1.KeyToPath defaultMode=3:int32 optional=4:bool
core.v1.SecurityContext capabilities=1:core.v1.Capabilities privileged=2:bool seLinuxOptions=3:core.v1.SELinuxOptions windowsOptions=10:core.v1.WindowsSecurityContextOptions runAsUser=4:int64 runAsGroup=8:int64 runAsNonRoot=5:bool readOnlyRootFilesystem=6:bool allowPrivilegeEscalation=7:bool procMount=9:string seccompProfile=11:core.v1.SeccompProfile appArmorProfile=12:core.v1.AppArmorProfile
core.v1.Service metadata=1:meta.v1.ObjectMeta spec=2:core.v1.ServiceSpec status=3:core.v1.ServiceStatus
core.v1.ServiceAccount metadata=1:meta.v1.ObjectMeta secrets=2:*core.v1.ObjectReference imagePullSecrets=3:*core.v1.LocalObjectReference automountServiceAccountToken=4:bool
core.v1.ServiceAccountTokenProjection ~audience=1:string expirationSeconds=2:int64 path=3:string
core.v1.ServicePort ~name=1:string ~protocol=2:string appProtocol=6:string port=3:int32 targetPort=4:util.intstr.IntOrString ~nodePort=5:int32
core.v1.ServiceSpec ports=1:*core.v1.ServicePort selector=2:%string ~clusterIP=3:string clusterIPs=18:*string ~type=4:string externalIPs=5:*string ~sessionAffinity=7:string ~loadBalancerIP=8:string loadBalancerSourceRanges=9:*string ~externalName=10:string ~externalTrafficPolicy=11:string ~healthCheckNodePort=12:int32 ~publishNotReadyAddresses=13:bool sessionAffinityConfig=14:core.v1.SessionAffinityConfig ipFamilies=19:*string ipFamilyPolicy=17:string allocateLoadBalancerNodePorts=20:bool loadBalancerClass=21:string internalTrafficPolicy=22:string trafficDistribution=23:string
core.v1.ServiceStatus loadBalancer=1:core.v1.LoadBalancerStatus conditions=2:*meta.v1.Condition
core.v1.SessionAffinityConfig clientIP=1:core.v1.ClientIPConfig
core.v1.SleepAction seconds=1:int64
core.v1.StorageOSPersistentVolumeSource ~volumeName=1:string ~volumeNamespace=2:string ~fsType=3:string ~readOnly=4:bool secretRef=5:core.v1.ObjectReference
core.v1.StorageOSVolumeSource ~volumeName=1:string ~volumeNamespace=2:string ~fsType=3:string ~readOnly=4:bool secretRef=5:core.v1.LocalObjectReference
core.v1.Sysctl name=1:string value=2:string
core.v1.TCPSocketAction port=1:util.intstr.IntOrString ~host=2:string
core.v1.Taint key=1:string ~value=2:string effect=3:string timeAdded=4:meta.v1.Time
core.v1.Toleration ~key=1:string ~operator=2:string ~value=3:string ~effect=4:string tolerationSeconds=5:int64
core.v1.TopologySelectorLabelRequirement key=1:string values=2:*string
core.v1.TopologySelectorTerm matchLabelExpressions=1:*core.v1.TopologySelectorLabelRequirement
core.v1.TopologySpreadConstraint maxSkew=1:int32 topologyKey=2:string whenUnsatisfiable=3:string labelSelector=4:meta.v1.LabelSelector minDomains=5:int32 nodeAffinityPolicy=6:string nodeTaintsPolicy=7:string matchLabelKeys=8:*string
core.v1.TypedLocalObjectReference apiGroup=1:string kind=2:string name=3:string
core.v1.TypedObjectReference apiGroup=1:string kind=2:string name=3:string namespace=4:string
core.v1.Volume name=1:string ^volumeSource=2:core.v1.VolumeSource
core.v1.VolumeDevice name=1:string devicePath=2:string
core.v1.VolumeMount name=1:string ~readOnly=2:bool recursiveReadOnly=7:string mountPath=3:string ~subPath=4:string mountPropagation=5:string ~subPathExpr=6:string
core.v1.VolumeMountStatus name=1:string mountPath=2:string ~readOnly=3:bool recursiveReadOnly=4:string
core.v1.VolumeNodeAffinity required=1:core.v1.NodeSelector
core.v1.VolumeProjection secret=1:core.v1.SecretProjection downwardAPI=2:core.v1.DownwardAPIProjection configMap=3:core.v1.ConfigMapProjection serviceAccountToken=4:core.v1.ServiceAccountTokenProjection clusterTrustBundle=5:core.v1.ClusterTrustBundleProjection podCertificate=6:core.v1.PodCertificateProjection
core.v1.VolumeResourceRequirements limits=1:%api.resource.Quantity requests=2:%api.resource.Quantity
core.v1.VolumeSource hostPath=1:core.v1.HostPathVolumeSource emptyDir=2:core.v1.EmptyDirVolumeSource gcePersistentDisk=3:core.v1.GCEPersistentDiskVolumeSource awsElasticBlockStore=4:core.v1.AWSElasticBlockStoreVolumeSource gitRepo=5:core.v1.GitRepoVolumeSource secret=6:core.v1.SecretVolumeSource nfs=7:core.v1.NFSVolumeSource iscsi=8:core.v1.ISCSIVolumeSource glusterfs=9:core.v1.GlusterfsVolumeSource persistentVolumeClaim=10:core.v1.PersistentVolumeClaimVolumeSource rbd=11:core.v1.RBDVolumeSource flexVolume=12:core.v1.FlexVolumeSource cinder=13:core.v1.CinderVolumeSource cephfs=14:core.v1.CephFSVolumeSource flocker=15:core.v1.FlockerVolumeSource downwardAPI=16:core.v1.DownwardAPIVolumeSource fc=17:core.v1.FCVolumeSource azureFile=18:core.v1.AzureFileVolumeSource configMap=19:core.v1.ConfigMapVolumeSource vsphereVolume=20:core.v1.VsphereVirtualDiskVolumeSource quobyte=21:core.v1.QuobyteVolumeSource azureDisk=22:core.v1.AzureDiskVolumeSource photonPersistentDisk=23:core.v1.PhotonPersistentDiskVolumeSource projected=26:core.v1.ProjectedVolumeSource portworxVolume=24:core.v1.PortworxVolumeSource scaleIO=25:core.v1.ScaleIOVolumeSource storageos=27:core.v1.StorageOSVolumeSource csi=28:core.v1.CSIVolumeSource ephemeral=29:core.v1.EphemeralVolumeSource image=30:core.v1.ImageVolumeSource
core.v1.VsphereVirtualDiskVolumeSource volumePath=1:string ~fsType=2:string ~storagePolicyName=3:string ~storagePolicyID=4:string
core.v1.WeightedPodAffinityTerm weight=1:int32 podAffinityTerm=2:core.v1.PodAffinityTerm
core.v1.WindowsSecurityContextOptions gmsaCredentialSpecName=1:string gmsaCredentialSpec=2:string runAsUserName=3:string hostProcess=4:bool
discovery.v1.Endpoint addresses=1:*string conditions=2:discovery.v1.EndpointConditions hostname=3:string targetRef=4:core.v1.ObjectReference deprecatedTopology=5:%string nodeName=6:string zone=7:string hints=8:discovery.v1.EndpointHints
discovery.v1.EndpointConditions ready=1:bool serving=2:bool terminating=3:bool
discovery.v1.EndpointHints forZones=1:*discovery.v1.ForZone forNodes=2:*discovery.v1.ForNode
discovery.v1.EndpointPort name=1:string protocol=2:string port=3:int32 appProtocol=4:string
discovery.v1.EndpointSlice metadata=1:meta.v1.ObjectMeta addressType=4:string endpoints=2:*discovery.v1.Endpoint ports=3:*discovery.v1.EndpointPort
discovery.v1.ForNode name=1:string
discovery.v1.ForZone name=1:string
networking.v1.HTTPIngressPath ~path=1:string pathType=3:string backend=2:networking.v1.IngressBackend
networking.v1.HTTPIngressRuleValue paths=1:*networking.v1.HTTPIngressPath
networking.v1.IPBlock cidr=1:string except=2:*string
networking.v1.Ingress metadata=1:meta.v1.ObjectMeta spec=2:networking.v1.IngressSpec status=3:networking.v1.IngressStatus
networking.v1.IngressBackend service=4:networking.v1.IngressServiceBackend resource=3:core.v1.TypedLocalObjectReference
networking.v1.IngressClass metadata=1:meta.v1.ObjectMeta spec=2:networking.v1.IngressClassSpec
networking.v1.IngressClassParametersReference apiGroup=1:string kind=2:string name=3:string scope=4:string namespace=5:string
networking.v1.IngressClassSpec ~controller=1:string parameters=2:networking.v1.IngressClassParametersReference
networking.v1.IngressLoadBalancerIngress ~ip=1:string ~hostname=2:string ports=4:*networking.v1.IngressPortStatus
networking.v1.IngressLoadBalancerStatus ingress=1:*networking.v1.IngressLoadBalancerIngress
networking.v1.IngressPortStatus port=1:int32 protocol=2:string error=3:string
networking.v1.IngressRule ~host=1:string ^ingressRuleValue=2:networking.v1.IngressRuleValue
networking.v1.IngressRuleValue http=1:networking.v1.HTTPIngressRuleValue
networking.v1.IngressServiceBackend name=1:string port=2:networking.v1.ServiceBackendPort
networking.v1.IngressSpec ingressClassName=4:string defaultBackend=1:networking.v1.IngressBackend tls=2:*networking.v1.IngressTLS rules=3:*networking.v1.IngressRule
networking.v1.IngressStatus loadBalancer=1:networking.v1.IngressLoadBalancerStatus
networking.v1.IngressTLS hosts=1:*string ~secretName=2:string
networking.v1.NetworkPolicy metadata=1:meta.v1.ObjectMeta spec=2:networking.v1.NetworkPolicySpec
networking.v1.NetworkPolicyEgressRule ports=1:*networking.v1.NetworkPolicyPort to=2:*networking.v1.NetworkPolicyPeer
networking.v1.NetworkPolicyIngressRule ports=1:*networking.v1.NetworkPolicyPort from=2:*networking.v1.NetworkPolicyPeer
networking.v1.NetworkPolicyPeer podSelector=1:meta.v1.LabelSelector namespaceSelector=2:meta.v1.LabelSelector ipBlock=3:networking.v1.IPBlock
networking.v1.NetworkPolicyPort protocol=1:string port=2:util.intstr.IntOrString endPort=3:int32
networking.v1.NetworkPolicySpec podSelector=1:meta.v1.LabelSelector ingress=2:*networking.v1.NetworkPolicyIngressRule egress=3:*networking.v1.NetworkPolicyEgressRule policyTypes=4:*string
networking.v1.ServiceBackendPort ~name=1:string ~number=2:int32
node.v1.Overhead podFixed=1:%api.resource.Quantity
node.v1.RuntimeClass metadata=1:meta.v1.ObjectMeta ^handler=2:string overhead=3:node.v1.Overhead scheduling=4:node.v1.Scheduling
node.v1.Scheduling nodeSelector=1:%string tolerations=2:*core.v1.Toleration
policy.v1.Eviction metadata=1:meta.v1.ObjectMeta deleteOptions=2:meta.v1.DeleteOptions
policy.v1.PodDisruptionBudget metadata=1:meta.v1.ObjectMeta spec=2:policy.v1.PodDisruptionBudgetSpec status=3:policy.v1.PodDisruptionBudgetStatus
policy.v1.PodDisruptionBudgetSpec minAvailable=1:util.intstr.IntOrString selector=2:meta.v1.LabelSelector maxUnavailable=3:util.intstr.IntOrString unhealthyPodEvictionPolicy=4:string
policy.v1.PodDisruptionBudgetStatus ~observedGeneration=1:int64 disruptedPods=2:%meta.v1.Time disruptionsAllowed=3:int32 currentHealthy=4:int32 desiredHealthy=5:int32 expectedPods=6:int32 conditions=7:*meta.v1.Condition
policy.v1beta1.Eviction metadata=1:meta.v1.ObjectMeta deleteOptions=2:meta.v1.DeleteOptions
policy.v1beta1.PodDisruptionBudget metadata=1:meta.v1.ObjectMeta spec=2:policy.v1beta1.PodDisruptionBudgetSpec status=3:policy.v1beta1.PodDisruptionBudgetStatus
policy.v1beta1.PodDisruptionBudgetSpec minAvailable=1:util.intstr.IntOrString selector=2:meta.v1.LabelSelector maxUnavailable=3:util.intstr.IntOrString unhealthyPodEvictionPolicy=4:string
policy.v1beta1.PodDisruptionBudgetStatus ~observedGeneration=1:int64 disruptedPods=2:%meta.v1.Time disruptionsAllowed=3:int32 currentHealthy=4:int32 desiredHealthy=5:int32 expectedPods=6:int32 conditions=7:*meta.v1.Condition
rbac.v1.AggregationRule clusterRoleSelectors=1:*meta.v1.LabelSelector
rbac.v1.ClusterRole metadata=1:meta.v1.ObjectMeta rules=2:*rbac.v1.PolicyRule aggregationRule=3:rbac.v1.AggregationRule
rbac.v1.ClusterRoleBinding metadata=1:meta.v1.ObjectMeta subjects=2:*rbac.v1.Subject roleRef=3:rbac.v1.RoleRef
rbac.v1.PolicyRule verbs=1:*string apiGroups=2:*string resources=3:*string resourceNames=4:*string nonResourceURLs=5:*string
rbac.v1.Role metadata=1:meta.v1.ObjectMeta rules=2:*rbac.v1.PolicyRule
rbac.v1.RoleBinding metadata=1:meta.v1.ObjectMeta subjects=2:*rbac.v1.Subject roleRef=3:rbac.v1.RoleRef
rbac.v1.RoleRef apiGroup=1:string kind=2:string name=3:string
rbac.v1.Subject kind=1:string ~apiGroup=2:string name=3:string ~namespace=4:string
scheduling.v1.PriorityClass metadata=1:meta.v1.ObjectMeta value=2:int32 ~globalDefault=3:bool ~description=4:string preemptionPolicy=5:string
storage.v1.CSIDriver metadata=1:meta.v1.ObjectMeta spec=2:storage.v1.CSIDriverSpec
storage.v1.CSIDriverSpec attachRequired=1:bool podInfoOnMount=2:bool volumeLifecycleModes=3:*string storageCapacity=4:bool fsGroupPolicy=5:string tokenRequests=6:*storage.v1.TokenRequest requiresRepublish=7:bool seLinuxMount=8:bool nodeAllocatableUpdatePeriodSeconds=9:int64
storage.v1.CSINode metadata=1:meta.v1.ObjectMeta spec=2:storage.v1.CSINodeSpec
storage.v1.CSINodeDriver name=1:string nodeID=2:string topologyKeys=3:*string allocatable=4:storage.v1.VolumeNodeResources
storage.v1.CSINodeSpec drivers=1:*storage.v1.CSINodeDriver
storage.v1.CSIStorageCapacity metadata=1:meta.v1.ObjectMeta nodeTopology=2:meta.v1.LabelSelector storageClassName=3:string capacity=4:api.resource.Quantity maximumVolumeSize=5:api.resource.Quantity
storage.v1.StorageClass metadata=1:meta.v1.ObjectMeta provisioner=2:string parameters=3:%string reclaimPolicy=4:string mountOptions=5:*string allowVolumeExpansion=6:bool volumeBindingMode=7:string allowedTopologies=8:*core.v1.TopologySelectorTerm
storage.v1.TokenRequest audience=1:string expirationSeconds=2:int64
storage.v1.VolumeAttachment metadata=1:meta.v1.ObjectMeta spec=2:storage.v1.VolumeAttachmentSpec status=3:storage.v1.VolumeAttachmentStatus
storage.v1.VolumeAttachmentSource persistentVolumeName=1:string inlineVolumeSpec=2:core.v1.PersistentVolumeSpec
storage.v1.VolumeAttachmentSpec attacher=1:string source=2:storage.v1.VolumeAttachmentSource nodeName=3:string
storage.v1.VolumeAttachmentStatus attached=1:bool attachmentMetadata=2:%string attachError=3:storage.v1.VolumeError detachError=4:storage.v1.VolumeError
storage.v1.VolumeError time=1:meta.v1.Time ~message=2:string errorCode=3:int32
storage.v1.VolumeNodeResources count=1:int32
meta.v1.Condition type=1:string status=2:string ~observedGeneration=3:int64 lastTransitionTime=4:meta.v1.Time reason=5:string message=6:string
meta.v1.DeleteOptions gracePeriodSeconds=1:int64 preconditions=2:meta.v1.Preconditions orphanDependents=3:bool propagationPolicy=4:string dryRun=5:*string ignoreStoreReadErrorWithClusterBreakingPotential=6:bool
meta.v1.FieldSelectorRequirement key=1:string operator=2:string values=3:*string
meta.v1.FieldsV1 Raw=1:bytes
meta.v1.LabelSelector matchLabels=1:%string matchExpressions=2:*meta.v1.LabelSelectorRequirement
meta.v1.LabelSelectorRequirement key=1:string operator=2:string values=3:*string
meta.v1.ManagedFieldsEntry ~manager=1:string ~operation=2:string ~apiVersion=3:string time=4:meta.v1.Time ~fieldsType=6:string fieldsV1=7:meta.v1.FieldsV1 ~subresource=8:string
meta.v1.MicroTime seconds=1:int64 nanos=2:int32
meta.v1.ObjectMeta ~name=1:string ~generateName=2:string ~namespace=3:string ~selfLink=4:string ~uid=5:string ~resourceVersion=6:string ~generation=7:int64 creationTimestamp=8:meta.v1.Time deletionTimestamp=9:meta.v1.Time deletionGracePeriodSeconds=10:int64 labels=11:%string annotations=12:%string ownerReferences=13:*meta.v1.OwnerReference finalizers=14:*string managedFields=17:*meta.v1.ManagedFieldsEntry
meta.v1.OwnerReference apiVersion=5:string kind=1:string name=3:string uid=4:string controller=6:bool blockOwnerDeletion=7:bool
meta.v1.Preconditions uid=1:string resourceVersion=2:string
meta.v1.Time seconds=1:int64 nanos=2:int32
api.resource.Quantity string=1:string
util.intstr.IntOrString type=1:int64 intVal=2:int32 strVal=3:string
runtime.RawExtension raw=1:bytes
`;
