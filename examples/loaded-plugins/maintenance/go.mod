module example.com/maintenance

go 1.22
