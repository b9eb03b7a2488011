/** `POST /plan`. */
export interface Plan {
  readonly from: string | null;
  readonly to: string;
  readonly verdict: 'accepted' | 'refused' | 'held';
  readonly summary: Readonly<Record<string, number>>;
  readonly changes: readonly PlanChange[];
  readonly problems: readonly PlaceProblem[];
  readonly warnings: readonly PlaceProblem[];
  readonly objections: readonly string[];
}

export interface PlaceProblem {
  readonly path: string;
  readonly line: number;
  readonly col: number;
  readonly message: string;
}

export interface PlanChange {
  readonly verb: 'create' | 'update' | 'delete' | 'recreate' | 'move';
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly path: string;
  readonly previousPath?: string;
  readonly fields: readonly FieldChange[];
  readonly degraded?: true;
  readonly access?: readonly AccessChange[];
  readonly derived?: DerivedChanges;
  readonly effects?: PlanEffects;
}

/** Roles, bindings and copies of secrets that follow from the object. */
export interface DerivedChanges {
  readonly count: number;
  readonly items: readonly {
    readonly verb: 'create' | 'update' | 'delete';
    readonly apiVersion: string;
    readonly kind: string;
    readonly namespace?: string;
    readonly name: string;
    readonly message?: string;
  }[];
}

/** Changes that a write would make; `hidden`: number of those that the user may not see. */
export interface WriteEffect {
  readonly changes: readonly PlanChange[];
  readonly hidden: number;
}

export interface FieldChange {
  readonly path: string;
  readonly before?: unknown;
  readonly after?: unknown;
  readonly masked?: true;
}

export interface AccessChange {
  readonly effect: 'opens' | 'closes';
  readonly subject?: { readonly kind: string; readonly name: string };
  readonly rule?: {
    readonly verbs: readonly string[];
    readonly resources?: readonly string[];
    readonly resourceNames?: readonly string[];
    readonly nonResourceURLs?: readonly string[];
  };
  readonly role?: string;
  readonly rightsOf?: string;
}

export interface PlanEffects {
  readonly objects: number;
  readonly changed: number;
  readonly items: readonly {
    readonly verb: string;
    readonly kind: string;
    readonly source: { readonly namespace: string; readonly name: string };
    readonly before?: unknown;
    readonly after?: unknown;
    readonly message?: string;
  }[];
  readonly unseen: number;
  readonly warnings: readonly string[];
  readonly unknown?: string;
}

/** `GET /compare`. */
export interface Comparison {
  readonly from: ComparedCommit;
  readonly to: ComparedCommit;
  /** Number of changes by verb. */
  readonly summary: Readonly<Record<string, number>>;
  /** Number of all changes; `items` has the first. */
  readonly count: number;
  readonly items: readonly (PlanChange & { readonly plural?: string })[];
}

export interface ComparedCommit {
  readonly revision: string;
  readonly time: string;
}
