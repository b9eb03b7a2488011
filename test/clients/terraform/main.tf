variable "kubeconfig" { type = string }
variable "display" { type = string }
provider "kubernetes" {
  config_path = var.kubeconfig
}
resource "kubernetes_manifest" "team" {
  field_manager { force_conflicts = true }
  manifest = {
    apiVersion = "management.gitplane.dev/v1"
    kind       = "Team"
    metadata = {
      name   = "terraformed"
      labels = { made = "terraform" }
    }
    spec = {
      displayName = var.display
      users       = ["ada", "bob"]
    }
  }
}
resource "kubernetes_manifest" "secret" {
  field_manager { force_conflicts = true }
  manifest = {
    apiVersion = "management.gitplane.dev/v1"
    kind       = "SharedSecret"
    metadata = {
      name      = "terraformed"
      namespace = "apps"
    }
    spec = {
      displayName = "Of ${kubernetes_manifest.team.manifest.metadata.name}"
      owner       = { team = "terraformed" }
      data        = { token = base64encode("hello") }
    }
  }
}
resource "kubernetes_cluster_role_v1" "reader" {
  metadata { name = "terraformed" }
  rule {
    api_groups = ["management.gitplane.dev"]
    resources  = ["teams"]
    verbs      = ["get", "list"]
  }
}
