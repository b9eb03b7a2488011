/** Manifests as people write them: the fast reader must take every one of them. */

export const TEAM = `# The team that owns the checkout.
apiVersion: management.gitplane.dev/v1
kind: Team
metadata:
  name: checkout   # also the prefix of its namespaces
  labels:
    app.kubernetes.io/part-of: shop
    gitplane.dev/non-deletable: "true"
  annotations: {}
spec:
  displayName: Checkout & Payments (EU)
  description: 'It''s the team behind https://shop.example.com:8443/checkout#top'
  owner:
    user: ada
  users:
  - ada
  - grace.hopper@example.com
  clusterRoles:
    - name: platform-admin
    - name: viewer
      optional: true

  access:
    - name: default
      verbs: ["*"]
      subresources: ['*']
      users: [ada, grace]
`;

export const SECRET = `---
apiVersion: management.gitplane.dev/v1
kind: SharedSecret
metadata:
  name: registry
  namespace: team-checkout
spec:
  data:
    username: robot$ci
    config.json: |
      {
        "auths": {
          "registry.example.com": { "auth": "ENC" }
        }
      }
    key: ENC[AES256_GCM,data:8KvAjg==,iv:5T0n8w0=,tag:Yx6vWg==,type:str]
    banner: >-
      A line that was folded
      because it is long.

      And a second paragraph.
    keep: |+
      #!/bin/sh

      echo "ready: yes"

---
# Nothing here, only this remark.
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: team-checkout}
rules:
- apiGroups: [""]
  resources: [pods, pods/log]
  verbs:
    - get
    - list
- apiGroups:
    - apps
  resources:
    - deployments
  resourceNames: []
  verbs: [get]
`;

export const DEPLOYMENT = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 3
  template:
    spec:
      containers:
        - name: web
          image: ghcr.io/example/web:1.27.4
          args:
            - --listen=0.0.0.0:8080
            - -v
            - "--name=\\"web\\"\\n"
          ports:
            - containerPort: 8080
              protocol: TCP
          resources:
            limits: {cpu: 500m, memory: 128Mi}
            requests:
              cpu: 0.25
              memory: 64Mi
          env:
            - name: EMPTY
              value:
            - name: OFFSET
              value: -5
            - name: NAME
              value: Zürich ☀
      nodeSelector:
      tolerations: []
      priority: null
      hostNetwork: false
`;

export const ENDPOINT_SYNC = `sync:
  toHost:
    endpoints:
      enabled: true
      patches:
        - path: subsets[*].addresses[*].ip
          expression: |
            value => {
              // keep the address
              return value;
            }
          reverseExpression: |-
            value
        - path: metadata.annotations["example.com/note"]
          reference:
            apiVersion: v1
            kind: Secret
            namespacePath: ./namespace
  matrix:
    - - a
      - b
    - - 1
      -
        deep: [1, 2.5, {x: z}]
    -
`;

export const TYPICAL = [TEAM, SECRET, DEPLOYMENT, ENDPOINT_SYNC];
