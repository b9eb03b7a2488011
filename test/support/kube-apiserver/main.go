// Program kube-apiserver is the API server of Kubernetes with the etcd that it keeps its objects in,
// in one process. The first argument is the directory of etcd, all others are those of kube-apiserver.
package main

import (
	"log"
	"net"
	"net/url"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() {
	if len(os.Args) < 2 {
		log.Fatal("usage: kube-apiserver ETCD-DIRECTORY FLAGS…")
	}
	dir, err := filepath.Abs(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	client := startEtcd(dir)
	command := app.NewAPIServerCommand()
	command.SetArgs(append([]string{"--etcd-servers=" + client}, os.Args[2:]...))
	os.Exit(cli.Run(command))
}

// startEtcd returns the address for clients.
func startEtcd(dir string) string {
	config := embed.NewConfig()
	config.Dir = filepath.Join(dir, "etcd")
	config.LogLevel = "error"
	clients, peers := freeAddress(), freeAddress()
	config.ListenClientUrls, config.AdvertiseClientUrls = clients, clients
	config.ListenPeerUrls, config.AdvertisePeerUrls = peers, peers
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	etcd, err := embed.StartEtcd(config)
	if err != nil {
		log.Fatal(err)
	}
	<-etcd.Server.ReadyNotify()
	return clients[0].String()
}

func freeAddress() []url.URL {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	defer listener.Close()
	return []url.URL{{Scheme: "http", Host: listener.Addr().String()}}
}
